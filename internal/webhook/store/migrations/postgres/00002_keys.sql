-- The key of each tenant that seals the secrets of its webhooks, wrapped by the installation's. Secrets
-- that were kept as they are, are sealed by the first server that reads them.

-- +goose Up
create table webhook_keys (
  tenant_id text collate "C" not null primary key check (tenant_id not in ('', '*')),
  wrapped   text not null
);

alter table webhook_keys enable row level security;
alter table webhook_keys force row level security;
create policy tenant on webhook_keys using (tenant_id = (select app_tenant())) with check (tenant_id = (select app_tenant()));
grant select, insert, update, delete on webhook_keys to retinue_app;

-- +goose Down
drop table webhook_keys;
