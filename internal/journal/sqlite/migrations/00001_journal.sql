-- The journal. One list of entries per conversation, and tables that are a fold of it.
-- Every key begins with tenant_id. Times are milliseconds since 1970, truth values are 0 and 1.

-- +goose Up

create table conversations (
  tenant_id       text    not null check (tenant_id not in ('', '*')),
  conversation_id text    not null check (conversation_id <> ''),
  opened_by       text    not null default '',
  title           text    not null default '',
  workspace       text    not null default '',
  archived        integer not null default 0,
  opened_at       integer not null,
  updated_at      integer not null,
  last_seq        integer not null default 0,
  last_number     integer not null default 0,
  -- bytes is what its rows hold, and private_to the person who alone may see the conversation, if it is private.
  bytes           integer not null default 0,
  private_to      text    not null default '',
  primary key (tenant_id, conversation_id)
) strict, without rowid;
create index conversations_recent on conversations (tenant_id, updated_at, conversation_id)
  where not archived;

-- The only home of content. An entry is never changed.
create table entries (
  tenant_id       text    not null,
  conversation_id text    not null,
  seq             integer not null,
  number          integer not null default 0,
  key             text    not null,
  kind            text    not null,
  agent_id        text    not null default '',
  task_id         text    not null default '',
  at              integer not null,
  body            text    not null check (json_valid(body)),
  primary key (tenant_id, conversation_id, seq),
  unique (tenant_id, conversation_id, key),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade
) strict;
create index entries_steps on entries (tenant_id, conversation_id, task_id, seq)
  where kind = 'stepped';
-- What pages show beside messages.
create index entries_marks on entries (tenant_id, conversation_id, seq)
  where kind in ('note_added', 'turn_ended');

create table agents (
  tenant_id       text    not null,
  conversation_id text    not null,
  agent_id        text    not null,
  seq             integer not null,
  parent_id       text,
  depth           integer not null,
  role            text    not null,
  role_hash       text    not null,
  latest_task     text    not null,
  input           integer not null default 0,
  output          integer not null default 0,
  cache_read      integer not null default 0,
  cache_write     integer not null default 0,
  reasoning       integer not null default 0,
  cost            integer not null default 0,
  unpriced        integer not null default 0,
  primary key (tenant_id, conversation_id, agent_id),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade,
  foreign key (tenant_id, conversation_id, parent_id) references agents on delete cascade
) strict, without rowid;

create table tasks (
  tenant_id       text    not null,
  conversation_id text    not null,
  task_id         text    not null,
  agent_id        text    not null,
  seq             integer not null,
  parent_id       text    not null,
  call_id         text    not null,
  item            integer not null,
  trigger_number  integer not null,
  background      integer not null,
  status          text    not null,
  reason          text    not null default '',
  error_kind      text    not null default '',
  assigned_at     integer not null,
  started_at      integer,
  finished_at     integer,
  primary key (tenant_id, conversation_id, task_id),
  foreign key (tenant_id, conversation_id, agent_id) references agents on delete cascade
) strict, without rowid;
create index tasks_newest on tasks (tenant_id, assigned_at, conversation_id, task_id);
create index tasks_open on tasks (tenant_id, assigned_at, conversation_id, task_id)
  where finished_at is null;
-- The tasks that the engine should be running.
create index tasks_working on tasks (tenant_id, conversation_id, task_id)
  where status in ('queued', 'pending', 'running', 'waiting');

-- Messages are entries; this says where they are and how to find them. Those that a search looks
-- at have a row in message_words.
create table messages (
  tenant_id       text    not null,
  conversation_id text    not null,
  seq             integer not null,
  agent_id        text,
  turn            integer not null,
  speaker         text    not null,
  in_chat         integer not null,
  voided          integer not null,
  at              integer not null,
  word_row        integer,
  primary key (tenant_id, conversation_id, seq),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade,
  foreign key (tenant_id, conversation_id, agent_id) references agents on delete cascade
) strict, without rowid;
create index messages_of_agent on messages (tenant_id, conversation_id, agent_id, seq)
  where agent_id is not null;
create index messages_of_chat on messages (tenant_id, conversation_id, seq) where in_chat;
-- What a full-text search finds is a word_row; the tenant is asked for in the message.
create index messages_of_words on messages (word_row) where word_row is not null;

-- The words of messages, without their text. They come in lower case with one space between them:
-- the program splits a text, because the tables of letters that SQLite has are too old to do it.
create virtual table message_words using fts5 (
  words, content = '', contentless_delete = 1, tokenize = 'ascii'
);

-- +goose StatementBegin
create trigger messages_lose_words after delete on messages when old.word_row is not null
begin
  delete from message_words where rowid = old.word_row;
end;
-- +goose StatementEnd

create table model_calls (
  tenant_id       text    not null,
  conversation_id text    not null,
  task_id         text    not null,
  call_id         text    not null,
  agent_id        text    not null,
  seq             integer not null,
  request_type    text    not null,
  turn            integer not null,
  attempt         integer not null,
  model           text    not null,
  prompt_hash     text    not null,
  status          text    not null,
  error_kind      text    not null default '',
  input           integer not null default 0,
  output          integer not null default 0,
  cache_read      integer not null default 0,
  cache_write     integer not null default 0,
  reasoning       integer not null default 0,
  cost            integer not null default 0,
  unpriced        integer not null default 0,
  started_at      integer not null,
  finished_at     integer,
  finished_seq    integer,
  primary key (tenant_id, conversation_id, agent_id, seq),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
) strict, without rowid;

create table tool_calls (
  tenant_id       text    not null,
  conversation_id text    not null,
  agent_id        text    not null,
  turn            integer not null,
  item            integer not null,
  call_id         text    not null,
  task_id         text    not null,
  seq             integer not null,
  tool            text    not null,
  voided          integer not null,
  started         integer not null default 0,
  wanted          integer not null default 0,
  closed          integer not null default 0,
  result          text    not null default '',
  attempt         integer not null default 0,
  started_at      integer,
  finished_at     integer,
  duration        integer not null default 0,
  primary key (tenant_id, conversation_id, agent_id, turn, item),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
) strict, without rowid;

create table questions (
  tenant_id       text    not null,
  conversation_id text    not null,
  question_id     text    not null,
  seq             integer not null,
  agent_id        text    not null,
  task_id         text    not null,
  call_id         text    not null,
  relayed         integer not null default 0,
  closed          integer not null default 0,
  answered_by     text    not null default '',
  at              integer not null,
  until           integer not null,
  primary key (tenant_id, conversation_id, question_id),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
) strict, without rowid;
create index questions_waiting on questions (tenant_id, at) where relayed and not closed;

create table approvals (
  tenant_id       text    not null,
  conversation_id text    not null,
  agent_id        text    not null,
  call_id         text    not null,
  seq             integer not null,
  task_id         text    not null,
  tool            text    not null,
  hash            text    not null,
  status          text    not null,
  allow           integer not null default 0,
  scope           text    not null default '',
  decided_by      text    not null default '',
  -- edited says that a person allowed the call with other arguments than the model's.
  edited          integer not null default 0,
  at              integer not null,
  until           integer not null,
  primary key (tenant_id, conversation_id, agent_id, call_id),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
) strict, without rowid;
create index approvals_waiting on approvals (tenant_id, at) where status = 'open';

create table grants (
  tenant_id       text    not null,
  conversation_id text    not null,
  seq             integer not null,
  tool            text    not null,
  pattern         text    not null,
  primary key (tenant_id, conversation_id, seq),
  foreign key (tenant_id, conversation_id, seq) references entries on delete cascade
) strict, without rowid;

create table leases (
  tenant_id       text    not null,
  conversation_id text    not null,
  key             text    not null,
  seq             integer not null,
  agent_id        text    not null,
  task_id         text    not null,
  holder          text    not null,
  tokens          integer not null,
  cost            integer not null,
  settled         integer not null default 0,
  primary key (tenant_id, conversation_id, key),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
) strict, without rowid;
create index leases_open on leases (tenant_id, conversation_id, seq) where not settled;

-- Mail that waits, and the agent that it waits for. Mail without an agent is for the server itself.
create table mailbox (
  tenant_id       text    not null,
  conversation_id text    not null,
  post_id         text    not null,
  seq             integer not null,
  topic           text    not null,
  agent_id        text    not null default '',
  at              integer not null,
  primary key (tenant_id, conversation_id, post_id),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade
) strict, without rowid;
-- The sweeper looks for the oldest mail of all tenants.
create index mailbox_oldest on mailbox (at);

-- Kept texts belong to a conversation and go with it.
create table texts (
  tenant_id       text not null check (tenant_id not in ('', '*')),
  conversation_id text not null check (conversation_id <> ''),
  hash            text not null,
  text            text not null,
  primary key (tenant_id, conversation_id, hash)
) strict;

-- What is left of an erased conversation: the hash of its id, and the command that had it removed. No content.
create table tombstones (
  tenant_id text not null,
  hash      text not null,
  command   text not null,
  erased_at integer not null,
  primary key (tenant_id, hash)
) strict, without rowid;

-- What tenants spend in a month, where they have a budget.
create table spending (
  tenant_id text not null check (tenant_id not in ('', '*')),
  month     text not null,
  spent     integer not null,
  primary key (tenant_id, month)
) strict;

-- Model calls and delegations as flat lines.
create view records as
select
  c.tenant_id,
  c.seq as id,
  c.conversation_id as session_id,
  case when a.parent_id is not null then t.seq end as parent_message_id,
  c.started_at,
  c.finished_at as completed_at,
  response.body ->> 'duration' as duration_ms,
  a.role as agent_role,
  a.depth as agent_depth,
  c.model as model_id,
  c.prompt_hash as system_prompt_id,
  c.request_type,
  coalesce((
    select group_concat(coalesce(p.value ->> 'text', ''), char(10))
    from json_each(asked.body, '$.message.parts') p where p.value ->> 'kind' = 'text'
  ), '') as request_content,
  coalesce(task.body ->> 'context_mode', '') as context_mode,
  coalesce(request.body ->> 'context_tokens', 0) as context_token_count,
  coalesce((
    select group_concat(coalesce(p.value ->> 'text', ''), char(10))
    from json_each(
      coalesce(reply.body, response.body), iif(reply.body is null, '$.parts', '$.message.parts')
    ) p
    where p.value ->> 'kind' = 'text'
  ), '') as response_content,
  '' as response_summary,
  (
    select json_group_array(json(p.value))
    from json_each(reply.body, '$.message.parts') p where p.value ->> 'kind' = 'tool_use'
  ) as tool_calls_json,
  '[]' as files_modified_json,
  c.input as prompt_tokens,
  c.output as completion_tokens,
  c.input + c.output as total_tokens,
  0 as iteration_count,
  coalesce(task.body ->> 'max_iterations', 0) as max_iterations,
  coalesce(task.body ->> 'max_duration', 0) as max_duration_ms,
  '' as bailout_reason,
  c.status,
  coalesce(response.body ->> 'message', '') as error_message,
  json_object('agent', c.agent_id, 'task', c.task_id, 'call', c.call_id, 'cost', c.cost)
    as metadata_json
from model_calls c
join agents a using (tenant_id, conversation_id, agent_id)
join tasks t using (tenant_id, conversation_id, task_id)
join entries task on task.tenant_id = t.tenant_id and task.conversation_id = t.conversation_id
  and task.seq = t.seq
join entries request on request.tenant_id = c.tenant_id
  and request.conversation_id = c.conversation_id and request.seq = c.seq
left join entries response on response.tenant_id = c.tenant_id
  and response.conversation_id = c.conversation_id and response.seq = c.finished_seq
left join entries reply on reply.tenant_id = c.tenant_id
  and reply.conversation_id = c.conversation_id and reply.seq = (
    select m.seq from messages m
    where m.tenant_id = c.tenant_id and m.conversation_id = c.conversation_id
      and m.agent_id = c.agent_id and m.seq > c.seq and m.turn = c.turn
      and m.speaker = 'assistant' and c.turn > 0 and c.status = 'completed'
    order by m.seq
    limit 1
  )
left join entries asked on asked.tenant_id = c.tenant_id
  and asked.conversation_id = c.conversation_id and asked.seq = (
    select m.seq from messages m
    where m.tenant_id = c.tenant_id and m.conversation_id = c.conversation_id
      and m.agent_id = c.agent_id and m.seq < c.seq and m.speaker = 'user'
    order by m.seq desc
    limit 1
  )
union all
select
  t.tenant_id,
  t.seq,
  t.conversation_id,
  (
    select c.seq from model_calls c
    where c.tenant_id = t.tenant_id and c.conversation_id = t.conversation_id
      and c.agent_id = t.parent_id and c.seq < t.seq
      and cast(c.turn as text) = substr(t.call_id, 1, instr(t.call_id || '.', '.') - 1)
    order by c.seq desc
    limit 1
  ),
  t.assigned_at,
  t.finished_at,
  t.finished_at - t.assigned_at,
  a.role,
  a.depth,
  '',
  '',
  'delegation',
  coalesce(task.body ->> 'instruction', ''),
  coalesce(task.body ->> 'context_mode', ''),
  0,
  coalesce(finish.body ->> 'summary', ''),
  coalesce(finish.body ->> 'summary', ''),
  '[]',
  coalesce(finish.body -> 'files', '[]'),
  0,
  0,
  0,
  coalesce(finish.body ->> 'iterations', 0),
  coalesce(task.body ->> 'max_iterations', 0),
  coalesce(task.body ->> 'max_duration', 0),
  coalesce(finish.body ->> 'reason', ''),
  t.status,
  coalesce(finish.body ->> 'message', ''),
  json_object('agent', t.agent_id, 'task', t.task_id)
from tasks t
join agents a using (tenant_id, conversation_id, agent_id)
join entries task on task.tenant_id = t.tenant_id and task.conversation_id = t.conversation_id
  and task.seq = t.seq
left join entries finish on finish.tenant_id = t.tenant_id
  and finish.conversation_id = t.conversation_id and finish.key = 'end/' || t.task_id
where t.parent_id <> '';

-- +goose Down
drop view records;
drop table spending;
drop table tombstones;
drop table texts;
drop table mailbox;
drop table leases;
drop table grants;
drop table approvals;
drop table questions;
drop table tool_calls;
drop table model_calls;
drop table messages;
drop table message_words;
drop table tasks;
drop table agents;
drop table entries;
drop table conversations;
