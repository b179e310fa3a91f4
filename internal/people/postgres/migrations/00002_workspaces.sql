-- Workspaces belong to tenants: a conversation can name only those of its own. A tenant may demand a second pair of eyes
-- for approvals.

-- +goose Up

alter table people.tenants add column second_pair boolean not null default false;

create table people.workspaces (
  tenant_id text collate "C" not null references people.tenants on delete cascade,
  name      text collate "C" not null check (name <> ''),
  -- When a worker that has it was started last.
  served_at timestamptz not null,
  primary key (tenant_id, name)
);

alter table people.workspaces enable row level security;
alter table people.workspaces force row level security;
create policy tenant on people.workspaces using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
grant select, insert, update, delete on people.workspaces to retinue_app;
