-- Kept texts belong to a conversation and go with it.

-- +goose Up
create table texts (
  tenant_id       text collate "C" not null check (tenant_id not in ('', '*')),
  conversation_id text collate "C" not null check (conversation_id <> ''),
  hash            text collate "C" not null,
  text            text not null,
  primary key (tenant_id, conversation_id, hash)
);

-- Whoever migrates owns the tables, and is no tenant.
alter table entries no force row level security;
alter table prompts no force row level security;
insert into texts (tenant_id, conversation_id, hash, text)
select distinct e.tenant_id, e.conversation_id, p.hash, p.text
from entries e
cross join lateral jsonb_path_query(e.body, '$.** ? (@.type() == "string")') as said
join prompts p on p.tenant_id = e.tenant_id and p.hash = said #>> '{}';
alter table entries force row level security;
drop table prompts;

alter table texts enable row level security;
alter table texts force row level security;
create policy tenant on texts using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
create policy private on texts as restrictive for select
  using (conversation_id <> all ((select app_hidden())::text[]));
grant select, insert, delete on texts to retinue_app;

-- +goose Down
create table prompts (
  tenant_id text collate "C" not null check (tenant_id not in ('', '*')),
  hash      text collate "C" not null,
  text      text not null,
  primary key (tenant_id, hash)
);
alter table texts no force row level security;
insert into prompts select distinct tenant_id, hash, text from texts;
drop table texts;
alter table prompts enable row level security;
alter table prompts force row level security;
create policy tenant on prompts using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
grant select, insert, delete on prompts to retinue_app;
