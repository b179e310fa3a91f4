-- What tenants spend in a month, where they have a budget.

-- +goose Up
create table spending (
  tenant_id text collate "C" not null check (tenant_id not in ('', '*')),
  month     text collate "C" not null,
  spent     bigint not null,
  primary key (tenant_id, month)
);
alter table spending enable row level security;
alter table spending force row level security;
create policy tenant on spending using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
grant select, insert, update, delete on spending to retinue_app;

-- +goose Down
drop table spending;
