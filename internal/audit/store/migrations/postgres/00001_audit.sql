-- The audit trail: one chain of rows per tenant. Nothing here belongs to a conversation, so it stays
-- when a conversation goes. Each row's hash is over the one before it and all other columns.

-- +goose Up
create table audit_rows (
  tenant_id       text collate "C" not null check (tenant_id not in ('', '*')),
  seq             bigint not null check (seq > 0),
  at_ms           bigint not null,
  action          text not null,
  outcome         text not null,
  actor           text not null,
  credential      text not null,
  source          text not null,
  conversation_id text not null,
  object          text not null,
  digest          text not null,
  detail          text not null,
  dedup           text collate "C" not null,
  hash            bytea not null,
  primary key (tenant_id, seq)
);

create unique index audit_dedup on audit_rows (tenant_id, dedup) where dedup <> '';
create index audit_first on audit_rows (tenant_id) where seq = 1;

alter table audit_rows enable row level security;
alter table audit_rows force row level security;
create policy tenant on audit_rows using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
-- The verifier of all trails has to know which tenants have one. A transaction of everybody sees the first entry of each chain.
create policy first on audit_rows for select using (seq = 1 and (select app_tenant()) = '*');

-- The program adds rows and reads them. The trigger binds every other role that has a right to the table.
grant select, insert on audit_rows to retinue_app;

-- +goose StatementBegin
create function audit_refuse() returns trigger
  language plpgsql
as $$
begin
  raise exception 'the audit trail is only ever added to' using errcode = 'RT002';
end
$$;
-- +goose StatementEnd

create trigger audit_rows_stay before update or delete on audit_rows for each row execute function audit_refuse();
create trigger audit_table_stays before truncate on audit_rows for each statement execute function audit_refuse();

-- +goose Down
drop table audit_rows;
drop function audit_refuse();
