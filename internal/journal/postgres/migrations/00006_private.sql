-- Conversations that only the person who began them may see.

-- +goose Up
alter table conversations add column private_to text not null default '';

-- The same as a list of its own: policies on conversations cannot look into conversations.
create table private_conversations (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  owner           text not null check (owner <> ''),
  primary key (tenant_id, conversation_id),
  foreign key (tenant_id, conversation_id) references conversations on delete cascade
);
alter table private_conversations enable row level security;
alter table private_conversations force row level security;
create policy tenant on private_conversations using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
grant select, insert, delete on private_conversations to retinue_app;

-- The conversations that a transaction must not see: private ones of others than the person that it reads for. Where it
-- names nobody, the program reads for itself and sees everything.
-- +goose StatementBegin
create function app_hidden() returns text[]
  language sql stable
as $$
  select case
    when coalesce(current_setting('app.viewer', true), '') = '' then '{}'::text[]
    else array(
      select p.conversation_id from private_conversations p
      where p.tenant_id = app_tenant() and p.owner <> current_setting('app.viewer', true)
    )
  end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
do $$
declare
  t text;
begin
  foreach t in array array[
    'conversations', 'entries', 'agents', 'tasks', 'messages', 'model_calls', 'tool_calls',
    'questions', 'approvals', 'grants', 'leases'
  ] loop
    execute format(
      'create policy private on %I as restrictive for select'
      ' using (conversation_id <> all ((select app_hidden())::text[]))', t);
  end loop;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
do $$
declare
  t text;
begin
  foreach t in array array[
    'conversations', 'entries', 'agents', 'tasks', 'messages', 'model_calls', 'tool_calls',
    'questions', 'approvals', 'grants', 'leases'
  ] loop
    execute format('drop policy private on %I', t);
  end loop;
end
$$;
-- +goose StatementEnd
drop function app_hidden();
drop table private_conversations;
alter table conversations drop column private_to;
