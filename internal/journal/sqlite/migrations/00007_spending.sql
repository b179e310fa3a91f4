-- What tenants spend in a month, where they have a budget.

-- +goose Up
create table spending (
  tenant_id text not null check (tenant_id not in ('', '*')),
  month     text not null,
  spent     integer not null,
  primary key (tenant_id, month)
) strict;

-- +goose Down
drop table spending;
