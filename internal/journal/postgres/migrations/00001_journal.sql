-- The journal. One list of entries per conversation, and tables that are a fold of it.
-- Every table begins its keys with tenant_id and shows a transaction only the rows of its tenant.
-- Ids are compared byte by byte: faster, and the same whatever the language of the database.

-- +goose Up

-- +goose StatementBegin
do $$
begin
  create role retinue_app nologin nosuperuser nobypassrls nocreatedb nocreaterole;
exception
  when duplicate_object or unique_violation then null;
end
$$;
-- +goose StatementEnd

-- The tenant of a transaction. It is set together with the time at which the transaction began,
-- and no other transaction began then: a setting that outlives its transaction names nobody.
-- +goose StatementBegin
create function app_tenant() returns text
  language sql stable
as $$
  select case
    when current_setting('app.began', true) = extract(epoch from now())::text
    then current_setting('app.tenant', true)
  end
$$;
-- +goose StatementEnd

create table conversations (
  tenant_id       text collate "C" not null check (tenant_id not in ('', '*')),
  conversation_id text collate "C" not null check (conversation_id <> ''),
  opened_by       text        not null default '',
  title           text        not null default '',
  workspace       text        not null default '',
  archived        boolean     not null default false,
  opened_at       timestamptz not null,
  updated_at      timestamptz not null,
  last_seq        bigint      not null default 0,
  last_number     bigint      not null default 0,
  -- Tells a conversation from one of the same id that was erased.
  birth           text        not null default gen_random_uuid()::text,
  primary key (tenant_id, conversation_id)
);
create index conversations_recent on conversations (tenant_id, updated_at desc, conversation_id)
  where not archived;

-- The only home of content. An entry is never changed.
create table entries (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  seq             bigint      not null,
  number          bigint      not null default 0,
  key             text collate "C" not null,
  kind            text        not null,
  agent_id        text collate "C" not null default '',
  task_id         text collate "C" not null default '',
  at              timestamptz not null,
  body            jsonb       not null,
  primary key (tenant_id, conversation_id, seq),
  -- Keys before conversations: two indexes that begin alike look alike to a planner that knows
  -- nothing of a new table yet, and it takes the wrong one.
  unique (tenant_id, key, conversation_id),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade
);
create index entries_steps on entries (tenant_id, conversation_id, task_id, seq)
  where kind = 'stepped';

create table agents (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  agent_id        text collate "C" not null,
  seq             bigint not null,
  parent_id       text collate "C",
  depth           int    not null,
  role            text   not null,
  role_hash       text   not null,
  latest_task     text   not null,
  input           bigint not null default 0,
  output          bigint not null default 0,
  cache_read      bigint not null default 0,
  cache_write     bigint not null default 0,
  reasoning       bigint not null default 0,
  cost            bigint not null default 0,
  unpriced        bigint not null default 0,
  primary key (tenant_id, conversation_id, agent_id),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade,
  foreign key (tenant_id, conversation_id, parent_id) references agents on delete cascade
);

create table tasks (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  task_id         text collate "C" not null,
  agent_id        text collate "C" not null,
  seq             bigint      not null,
  parent_id       text collate "C" not null,
  call_id         text collate "C" not null,
  item            int         not null,
  trigger_number  bigint      not null,
  background      boolean     not null,
  status          text        not null,
  reason          text        not null default '',
  error_kind      text        not null default '',
  assigned_at     timestamptz not null,
  started_at      timestamptz,
  finished_at     timestamptz,
  primary key (tenant_id, conversation_id, task_id),
  foreign key (tenant_id, conversation_id, agent_id) references agents on delete cascade
);

-- Messages are entries; this says where they are and how to find them.
create table messages (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  seq             bigint      not null,
  agent_id        text collate "C",
  turn            int         not null,
  speaker         text        not null,
  in_chat         boolean     not null,
  voided          boolean     not null,
  at              timestamptz not null,
  words           tsvector,
  primary key (tenant_id, conversation_id, seq),
  foreign key (tenant_id, conversation_id, agent_id) references agents on delete cascade
);
create index messages_of_agent on messages (tenant_id, conversation_id, agent_id, seq)
  where agent_id is not null;
create index messages_of_chat on messages (tenant_id, conversation_id, seq) where in_chat;
-- A search walks its tenant's messages from the newest: an index on words cannot be used here,
-- because the match operator might leak what row level security hides.
create index messages_newest on messages (tenant_id, at desc, conversation_id, seq)
  where words is not null;

create table model_calls (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  task_id         text collate "C" not null,
  call_id         text collate "C" not null,
  agent_id        text collate "C" not null,
  seq             bigint      not null,
  request_type    text        not null,
  turn            int         not null,
  attempt         int         not null,
  model           text        not null,
  prompt_hash     text        not null,
  status          text        not null,
  error_kind      text        not null default '',
  input           bigint      not null default 0,
  output          bigint      not null default 0,
  cache_read      bigint      not null default 0,
  cache_write     bigint      not null default 0,
  reasoning       bigint      not null default 0,
  cost            bigint      not null default 0,
  unpriced        bigint      not null default 0,
  started_at      timestamptz not null,
  finished_at     timestamptz,
  finished_seq    bigint,
  primary key (tenant_id, conversation_id, agent_id, seq),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
);

create table tool_calls (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  agent_id        text collate "C" not null,
  turn            int         not null,
  item            int         not null,
  call_id         text collate "C" not null,
  task_id         text collate "C" not null,
  seq             bigint      not null,
  tool            text        not null,
  voided          boolean     not null,
  started         boolean     not null default false,
  wanted          boolean     not null default false,
  closed          boolean     not null default false,
  result          text        not null default '',
  attempt         int         not null default 0,
  started_at      timestamptz,
  finished_at     timestamptz,
  duration        bigint      not null default 0,
  primary key (tenant_id, conversation_id, agent_id, turn, item),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
);

create table questions (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  question_id     text collate "C" not null,
  seq             bigint      not null,
  agent_id        text collate "C" not null,
  task_id         text collate "C" not null,
  call_id         text collate "C" not null,
  relayed         boolean     not null default false,
  closed          boolean     not null default false,
  answered_by     text        not null default '',
  at              timestamptz not null,
  until           bigint      not null,
  primary key (tenant_id, conversation_id, question_id),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
);
create index questions_waiting on questions (tenant_id, at) where relayed and not closed;

create table approvals (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  agent_id        text collate "C" not null,
  call_id         text collate "C" not null,
  seq             bigint      not null,
  task_id         text collate "C" not null,
  tool            text        not null,
  hash            text collate "C" not null,
  status          text        not null,
  allow           boolean     not null default false,
  scope           text        not null default '',
  decided_by      text        not null default '',
  at              timestamptz not null,
  until           bigint      not null,
  primary key (tenant_id, conversation_id, agent_id, call_id),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
);
create index approvals_waiting on approvals (tenant_id, at) where status = 'open';

create table grants (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  seq             bigint not null,
  tool            text   not null,
  pattern         text   not null,
  primary key (tenant_id, conversation_id, seq),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade
);

create table leases (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  key             text collate "C" not null,
  seq             bigint  not null,
  agent_id        text collate "C" not null,
  task_id         text collate "C" not null,
  holder          text    not null,
  tokens          bigint  not null,
  cost            bigint  not null,
  settled         boolean not null default false,
  primary key (tenant_id, conversation_id, key),
  foreign key (tenant_id, conversation_id, task_id) references tasks on delete cascade
);
create index leases_open on leases (tenant_id, conversation_id, seq) where not settled;

create table outbox (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  post_id         text collate "C" not null,
  seq             bigint      not null,
  topic           text        not null,
  at              timestamptz not null,
  primary key (tenant_id, conversation_id, post_id),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade
);
-- The one index that does not begin with the tenant: the sweeper looks for what is oldest.
create index outbox_oldest on outbox (at);

create table prompts (
  tenant_id text collate "C" not null check (tenant_id not in ('', '*')),
  hash      text collate "C" not null,
  text      text not null,
  primary key (tenant_id, hash)
);

-- +goose StatementBegin
do $$
declare
  t text;
begin
  foreach t in array array[
    'conversations', 'entries', 'agents', 'tasks', 'messages', 'model_calls', 'tool_calls',
    'questions', 'approvals', 'grants', 'leases', 'outbox', 'prompts'
  ] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format(
      'create policy tenant on %I using (tenant_id = (select app_tenant()))'
      ' with check (tenant_id = (select app_tenant()))', t);
    execute format('grant select, insert, delete on %I to retinue_app', t);
  end loop;
  foreach t in array array[
    'conversations', 'agents', 'tasks', 'messages', 'model_calls', 'tool_calls', 'questions',
    'approvals', 'leases'
  ] loop
    execute format('grant update on %I to retinue_app', t);
  end loop;
end
$$;
-- +goose StatementEnd

-- Locks a conversation and fails unless it is the one that the caller remembers, its list ends where
-- the caller believes, and none of these keys is there.
-- +goose StatementBegin
create function expect(tenant text, conversation text, born text, last bigint, absent text[])
  returns void
  language plpgsql
as $$
begin
  perform from conversations c
  where c.tenant_id = tenant and c.conversation_id = conversation and c.birth = born
    and c.last_seq = last
  for update;
  if not found or exists (
    select from unnest(absent) as k (key), lateral (
      select from entries e
      where e.tenant_id = tenant and e.conversation_id = conversation and e.key = k.key limit 1
    ) as there
  ) then
    raise exception 'the list is another' using errcode = 'RT001';
  end if;
end
$$;
-- +goose StatementEnd

-- A transaction of nobody in particular may see what must be delivered, and change nothing.
create policy sweep on outbox for select using ((select app_tenant()) = '*');

-- Model calls and delegations as flat lines.
create view records with (security_invoker = true) as
select
  c.tenant_id,
  c.seq as id,
  c.conversation_id as session_id,
  case when a.parent_id is not null then t.seq end as parent_message_id,
  c.started_at,
  c.finished_at as completed_at,
  (response.body ->> 'duration')::bigint as duration_ms,
  a.role as agent_role,
  a.depth as agent_depth,
  c.model as model_id,
  c.prompt_hash as system_prompt_id,
  c.request_type,
  coalesce(asked.text, '') as request_content,
  coalesce(task.body ->> 'context_mode', '') as context_mode,
  coalesce((request.body ->> 'context_tokens')::bigint, 0) as context_token_count,
  coalesce(reply.text, side.text, '') as response_content,
  '' as response_summary,
  coalesce(reply.calls, '[]'::jsonb) as tool_calls_json,
  '[]'::jsonb as files_modified_json,
  c.input as prompt_tokens,
  c.output as completion_tokens,
  c.input + c.output as total_tokens,
  0 as iteration_count,
  coalesce((task.body ->> 'max_iterations')::int, 0) as max_iterations,
  coalesce((task.body ->> 'max_duration')::bigint, 0) as max_duration_ms,
  '' as bailout_reason,
  c.status,
  coalesce(response.body ->> 'message', '') as error_message,
  jsonb_build_object('agent', c.agent_id, 'task', c.task_id, 'call', c.call_id, 'cost', c.cost)
    as metadata_json
from model_calls c
join agents a using (tenant_id, conversation_id, agent_id)
join tasks t using (tenant_id, conversation_id, task_id)
join entries task on (task.tenant_id, task.conversation_id, task.seq)
  = (t.tenant_id, t.conversation_id, t.seq)
join entries request on (request.tenant_id, request.conversation_id, request.seq)
  = (c.tenant_id, c.conversation_id, c.seq)
left join entries response on (response.tenant_id, response.conversation_id, response.seq)
  = (c.tenant_id, c.conversation_id, c.finished_seq)
left join lateral (
  select string_agg(part ->> 'text', E'\n' order by n) as text
  from jsonb_array_elements(response.body -> 'parts') with ordinality as p (part, n)
  where part ->> 'kind' = 'text'
) side on true
left join lateral (
  select
    string_agg(part ->> 'text', E'\n' order by n) filter (where part ->> 'kind' = 'text') as text,
    jsonb_agg(part order by n) filter (where part ->> 'kind' = 'tool_use') as calls
  from (
    select seq from messages m
    where (m.tenant_id, m.conversation_id, m.agent_id) = (c.tenant_id, c.conversation_id, c.agent_id)
      and m.turn = c.turn and m.speaker = 'assistant' and c.turn > 0 and c.status = 'completed'
      and m.seq > c.seq
    order by seq limit 1
  ) m
  join entries e on (e.tenant_id, e.conversation_id, e.seq)
    = (c.tenant_id, c.conversation_id, m.seq),
  jsonb_array_elements(e.body #> '{message,parts}') with ordinality as p (part, n)
) reply on true
left join lateral (
  select string_agg(part ->> 'text', E'\n' order by n) as text
  from (
    select seq from messages m
    where (m.tenant_id, m.conversation_id, m.agent_id) = (c.tenant_id, c.conversation_id, c.agent_id)
      and m.speaker = 'user' and m.seq < c.seq
    order by seq desc limit 1
  ) m
  join entries e on (e.tenant_id, e.conversation_id, e.seq)
    = (c.tenant_id, c.conversation_id, m.seq),
  jsonb_array_elements(e.body #> '{message,parts}') with ordinality as p (part, n)
  where part ->> 'kind' = 'text'
) asked on true
union all
select
  t.tenant_id,
  t.seq,
  t.conversation_id,
  (
    select max(c.seq) from model_calls c
    where (c.tenant_id, c.conversation_id, c.agent_id) = (t.tenant_id, t.conversation_id, t.parent_id)
      and c.turn::text = split_part(t.call_id, '.', 1) and c.seq < t.seq
  ),
  t.assigned_at,
  t.finished_at,
  (extract(epoch from t.finished_at - t.assigned_at) * 1000)::bigint,
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
  '[]'::jsonb,
  coalesce(finish.body -> 'files', '[]'::jsonb),
  0,
  0,
  0,
  coalesce((finish.body ->> 'iterations')::int, 0),
  coalesce((task.body ->> 'max_iterations')::int, 0),
  coalesce((task.body ->> 'max_duration')::bigint, 0),
  coalesce(finish.body ->> 'reason', ''),
  t.status,
  coalesce(finish.body ->> 'message', ''),
  jsonb_build_object('agent', t.agent_id, 'task', t.task_id)
from tasks t
join agents a using (tenant_id, conversation_id, agent_id)
join entries task on (task.tenant_id, task.conversation_id, task.seq)
  = (t.tenant_id, t.conversation_id, t.seq)
left join entries finish on (finish.tenant_id, finish.conversation_id, finish.key)
  = (t.tenant_id, t.conversation_id, 'finish/' || t.task_id)
where t.parent_id <> '';

grant select on records to retinue_app;

-- +goose Down
drop view records;
drop table prompts, outbox, leases, grants, approvals, questions, tool_calls, model_calls, messages,
  tasks, agents, entries, conversations;
drop function expect(text, text, text, bigint, text[]), app_tenant();
