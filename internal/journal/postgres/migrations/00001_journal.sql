-- The journal. One list of entries per conversation, and tables that are a fold of it.
--
-- Every table begins its keys with tenant_id and shows a transaction only the rows of its tenant. Ids are compared byte by
-- byte: faster, and the same whatever the language of the database.
--
-- Two rules keep an append cheap, however young or large the tables are:
--
-- 1. There are no foreign keys. An append locks the row of its conversation and has checked what its rows follow, so the
--    database would check what is known. erase_conversation deletes what cascades would.
-- 2. Each statement that runs for every row has one index that it can use. A connection keeps its plans, and the first are
--    made while the tables are empty and all indexes look alike: the planner would take the wrong one for as long as the
--    connection lasts. So keys have a table of their own, and an index for lists has a condition that only lists name.

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

-- The person for whom a transaction reads, empty where the program reads for itself.
-- +goose StatementBegin
create function app_viewer() returns text
  language sql stable
as $$
  select coalesce(current_setting('app.viewer', true), '')
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
  -- How much the rows hold, for the storage that a tenant may use.
  bytes           bigint      not null default 0,
  -- Who alone may see it; empty if all of the tenant may.
  private_to      text        not null default '',
  -- Tells a conversation from one of the same id that was erased.
  birth           text        not null default gen_random_uuid()::text,
  primary key (tenant_id, conversation_id)
);
create index conversations_recent on conversations (tenant_id, updated_at desc, conversation_id)
  where not archived;

-- The private ones as a list of its own: policies on conversations cannot look into conversations.
create table private_conversations (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  owner           text not null check (owner <> ''),
  primary key (tenant_id, conversation_id)
);

-- The private conversations of others than the person for whom a transaction reads. In SQL it would be planned again for
-- each statement.
-- +goose StatementBegin
create function app_hidden() returns text[]
  language plpgsql stable
as $$
begin
  if app_viewer() = '' then
    return '{}';
  end if;
  return array(
    select p.conversation_id from private_conversations p
    where p.tenant_id = app_tenant() and p.owner <> app_viewer()
  );
end
$$;
-- +goose StatementEnd

-- The only home of content. An entry is never changed.
create table entries (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  seq             bigint      not null,
  number          bigint      not null default 0,
  kind            text        not null,
  agent_id        text collate "C" not null default '',
  task_id         text collate "C" not null default '',
  at              timestamptz not null,
  body            jsonb       not null,
  primary key (tenant_id, conversation_id, seq)
);
create index entries_steps on entries (tenant_id, conversation_id, task_id, seq)
  where kind = 'stepped';
create index entries_marks on entries (tenant_id, conversation_id, seq)
  where kind in ('note_added', 'turn_ended');

-- Where the entry with a key stands. No two have the same.
create table keys (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  key             text collate "C" not null,
  seq             bigint not null,
  number          bigint not null,
  primary key (tenant_id, conversation_id, key)
);

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
  primary key (tenant_id, conversation_id, agent_id)
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
  primary key (tenant_id, conversation_id, task_id)
);
create index tasks_newest on tasks (tenant_id, assigned_at, conversation_id, task_id)
  where assigned_at > '-infinity';
create index tasks_open on tasks (tenant_id, assigned_at, conversation_id, task_id)
  where finished_at is null;
-- For whoever looks whether the engine still runs them.
create index tasks_working on tasks (tenant_id, conversation_id, task_id)
  where status in ('queued', 'pending', 'running', 'waiting');

-- Messages are entries; this says where they are and how to find them. What people say has no agent.
create table messages (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  agent_id        text collate "C" not null,
  seq             bigint      not null,
  turn            int         not null,
  speaker         text        not null,
  in_chat         boolean     not null,
  voided          boolean     not null,
  at              timestamptz not null,
  words           tsvector,
  primary key (tenant_id, conversation_id, agent_id, seq)
);
create index messages_of_chat on messages (tenant_id, conversation_id, seq) where in_chat;
-- A search walks its tenant's messages from the newest.
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
  primary key (tenant_id, conversation_id, agent_id, seq)
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
  primary key (tenant_id, conversation_id, agent_id, turn, item)
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
  primary key (tenant_id, conversation_id, question_id)
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
  -- Whether a person allowed the call with other arguments than the model's.
  edited          boolean     not null default false,
  at              timestamptz not null,
  until           bigint      not null,
  primary key (tenant_id, conversation_id, agent_id, call_id)
);
create index approvals_waiting on approvals (tenant_id, at) where status = 'open';

create table grants (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  seq             bigint not null,
  tool            text   not null,
  pattern         text   not null,
  primary key (tenant_id, conversation_id, seq)
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
  primary key (tenant_id, conversation_id, key)
);
create index leases_open on leases (tenant_id, conversation_id, seq) where not settled;

-- What waits for an agent. What has none is for the server itself.
create table mailbox (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  post_id         text collate "C" not null,
  agent_id        text collate "C" not null,
  seq             bigint      not null,
  topic           text        not null,
  at              timestamptz not null,
  primary key (tenant_id, post_id, conversation_id)
);
create index mailbox_of_agent on mailbox (tenant_id, conversation_id, agent_id, seq)
  where agent_id <> '';
-- The one index that does not begin with the tenant: the sweeper looks for what is oldest.
create index mailbox_oldest on mailbox (at);

-- Texts that are kept once per conversation. They may come before it begins, and go with it.
create table texts (
  tenant_id       text collate "C" not null check (tenant_id not in ('', '*')),
  conversation_id text collate "C" not null check (conversation_id <> ''),
  hash            text collate "C" not null,
  text            text not null,
  primary key (tenant_id, conversation_id, hash)
);

-- What is left of a conversation that was erased: the hash of its id, and of the command that had it removed. Nothing of
-- its content.
create table tombstones (
  tenant_id text collate "C" not null check (tenant_id not in ('', '*')),
  hash      text collate "C" not null,
  command   text not null,
  erased_at timestamptz not null,
  primary key (tenant_id, hash)
);

-- What tenants spend in a month, where they have a budget.
create table spending (
  tenant_id text collate "C" not null check (tenant_id not in ('', '*')),
  month     text collate "C" not null,
  spent     bigint not null,
  primary key (tenant_id, month)
);

-- +goose StatementBegin
do $$
declare
  t text;
  everything text[] := array[
    'conversations', 'private_conversations', 'entries', 'keys', 'agents', 'tasks', 'messages', 'model_calls',
    'tool_calls', 'questions', 'approvals', 'grants', 'leases', 'mailbox', 'texts', 'tombstones', 'spending'];
  changing text[] := array[
    'conversations', 'agents', 'tasks', 'messages', 'model_calls', 'tool_calls', 'questions', 'approvals', 'leases',
    'tombstones', 'spending'];
  -- What holds nothing of a conversation that a person could see.
  blank text[] := array['private_conversations', 'mailbox', 'tombstones', 'spending'];
begin
  foreach t in array everything loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format(
      'create policy tenant on %I using (tenant_id = (select app_tenant()))'
      ' with check (tenant_id = (select app_tenant()))', t);
    execute format('grant select, insert, delete on %I to retinue_app', t);
    if t = any (changing) then
      execute format('grant update on %I to retinue_app', t);
    end if;
    -- The look at the viewer comes first: the program itself is spared the other.
    if t <> all (blank) then
      execute format(
        'create policy private on %I as restrictive for select'
        ' using ((select app_viewer()) = '''' or conversation_id <> all ((select app_hidden())::text[]))', t);
    end if;
  end loop;
end
$$;
-- +goose StatementEnd

-- A transaction of nobody in particular may see what must be delivered and which tasks have not ended, and change nothing.
create policy sweep on mailbox for select using ((select app_tenant()) = '*');
create policy sweep on tasks for select
  using ((select app_tenant()) = '*' and status in ('queued', 'pending', 'running', 'waiting'));

-- Locks a conversation and fails unless it is the one that the caller remembers, its list ends where the caller believes,
-- and none of these keys is there.
-- +goose StatementBegin
create function expect(tenant text, conversation text, born text, last bigint, absent text[])
  returns void
  language plpgsql
as $$
begin
  perform from conversations c
  where c.tenant_id = tenant and c.conversation_id = conversation and c.birth = born
    and c.last_seq = last
  for no key update;
  if found and cardinality(absent) > 0 then
    perform from unnest(absent) as a (key), lateral (
      select from keys k
      where k.tenant_id = tenant and k.conversation_id = conversation and k.key = a.key limit 1
    ) as there;
    found := not found;
  end if;
  if not found then
    raise exception 'the list is another' using errcode = 'RT001';
  end if;
end
$$;
-- +goose StatementEnd

-- Keeps texts once each, and says whether it may: a conversation that is about to begin is not there yet, one that was erased
-- keeps nothing. Whoever erases waits for this one, or this one for them. Who appends does not.
-- +goose StatementBegin
create function keep_texts(tenant text, conversation text, tombstone text, hashes text[], bodies text[]) returns boolean
  language plpgsql
as $$
begin
  perform from conversations c where c.tenant_id = tenant and c.conversation_id = conversation for key share;
  if not found then
    perform from tombstones d where d.tenant_id = tenant and d.hash = tombstone;
    if found then
      return false;
    end if;
  end if;
  insert into texts (tenant_id, conversation_id, hash, text)
  select tenant, conversation, unnest(hashes), unnest(bodies)
  on conflict do nothing;
  return true;
end
$$;
-- +goose StatementEnd

-- Removes a conversation with everything in it, and says whether it was there.
-- +goose StatementBegin
create function erase_conversation(tenant text, conversation text) returns boolean
  language plpgsql
as $$
declare
  t text;
begin
  foreach t in array array[
    'private_conversations', 'entries', 'keys', 'agents', 'tasks', 'messages', 'model_calls', 'tool_calls', 'questions',
    'approvals', 'grants', 'leases', 'mailbox', 'texts'
  ] loop
    execute format('delete from %I where tenant_id = $1 and conversation_id = $2', t) using tenant, conversation;
  end loop;
  delete from conversations c where c.tenant_id = tenant and c.conversation_id = conversation;
  return found;
end
$$;
-- +goose StatementEnd

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
left join keys f on (f.tenant_id, f.conversation_id, f.key)
  = (t.tenant_id, t.conversation_id, 'end/' || t.task_id)
left join entries finish on (finish.tenant_id, finish.conversation_id, finish.seq)
  = (f.tenant_id, f.conversation_id, f.seq)
where t.parent_id <> '';
grant select on records to retinue_app;

-- Whoever serves looks whether the tables are those it was made for.
grant select on goose_db_version to retinue_app;

-- The words of a message as the index has them. Each begins with its tenant, so that what a search reads does not grow
-- with the words of others, and the time that it takes says nothing about them.
-- +goose StatementBegin
create function tenant_words(tenant text, words text[]) returns text[]
  language sql immutable strict parallel safe
as $$
  select array(select left(md5(tenant), 12) || word from unnest(words) as word)
$$;
-- +goose StatementEnd

create index messages_words on messages using gin (tenant_words(tenant_id, tsvector_to_array(words)))
  where words is not null;

-- The keys of the newest messages of the transaction's tenant with all of these words, some of them twice. Row level
-- security keeps an index on words from being used, because comparing words might tell what it hides. Therefore this
-- function reads messages as their owner. It keeps to the tenant and the viewer itself, and tells keys alone: the messages
-- are read with the rights of who asks.
-- +goose StatementBegin
create function search_messages(wanted text[], conversation text, sub_agents boolean, most int)
  returns table (conversation_id text, agent_id text, seq bigint)
  language plpgsql stable security definer
  set search_path = public, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  tenant text := app_tenant();
  hidden text[] := app_hidden();
  terms  text[] := tenant_words(tenant, wanted);
  found  bigint;
begin
  -- A word that occurs often is among the newest messages. The index would find all of them, and not in order.
  return query
    select m.conversation_id, m.agent_id, m.seq from (
      select * from messages
      where tenant_id = tenant and words is not null
      order by at desc, conversation_id, seq
      limit 1000
    ) m
    where tsvector_to_array(words) @> wanted and not voided and m.conversation_id <> all (hidden)
      and (conversation = '' or m.conversation_id = conversation) and (sub_agents or in_chat)
    order by at desc, m.conversation_id, m.seq desc
    limit most;
  get diagnostics found = row_count;
  if found >= most then
    return;
  end if;
  return query
    with m as materialized (
      select * from messages
      where words is not null and tenant_words(tenant_id, tsvector_to_array(words)) @> terms
    )
    select m.conversation_id, m.agent_id, m.seq from m
    where tenant_id = tenant and not voided and m.conversation_id <> all (hidden)
      and (conversation = '' or m.conversation_id = conversation) and (sub_agents or in_chat)
    order by at desc, m.conversation_id, m.seq desc
    limit most;
end
$$;
-- +goose StatementEnd
revoke execute on function search_messages(text[], text, boolean, int) from public;
grant execute on function search_messages(text[], text, boolean, int) to retinue_app;
alter table messages no force row level security;

-- +goose Down
drop view records;
drop function search_messages(text[], text, boolean, int), erase_conversation(text, text),
  expect(text, text, text, bigint, text[]);
drop table spending, tombstones, texts, mailbox, leases, grants, approvals, questions, tool_calls, model_calls, messages,
  tasks, agents, keys, entries, private_conversations, conversations;
drop function tenant_words(text, text[]), app_hidden(), app_viewer(), app_tenant();
