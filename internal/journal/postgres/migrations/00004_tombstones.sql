-- What is left of a conversation that was erased: the hash of its id, and of the command that had it
-- removed. Nothing of its content.

-- +goose Up
create table tombstones (
  tenant_id text collate "C" not null check (tenant_id not in ('', '*')),
  hash      text collate "C" not null,
  command   text not null,
  erased_at timestamptz not null,
  primary key (tenant_id, hash)
);

alter table tombstones enable row level security;
alter table tombstones force row level security;
create policy tenant on tombstones using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
grant select, insert, update on tombstones to retinue_app;

-- +goose Down
drop table tombstones;
