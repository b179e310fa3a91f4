-- The audit trail: one chain of rows per tenant, in a file of its own. Each row's hash is over the one
-- before it and all other columns.

-- +goose Up
create table audit_rows (
  tenant_id       text not null check (tenant_id not in ('', '*')),
  seq             integer not null check (seq > 0),
  at_ms           integer not null,
  action          text not null,
  outcome         text not null,
  actor           text not null,
  credential      text not null,
  source          text not null,
  conversation_id text not null,
  object          text not null,
  digest          text not null,
  detail          text not null,
  dedup           text not null,
  hash            blob not null,
  primary key (tenant_id, seq)
) strict;

create unique index audit_dedup on audit_rows (tenant_id, dedup) where dedup <> '';
-- The first entry of each chain tells the verifier that there is one.
create index audit_first on audit_rows (tenant_id) where seq = 1;

-- +goose StatementBegin
create trigger audit_rows_stay before update on audit_rows
begin
  select raise(abort, 'the audit trail is only ever added to');
end;
-- +goose StatementEnd

-- +goose StatementBegin
create trigger audit_rows_remain before delete on audit_rows
begin
  select raise(abort, 'the audit trail is only ever added to');
end;
-- +goose StatementEnd

-- +goose Down
drop table audit_rows;
