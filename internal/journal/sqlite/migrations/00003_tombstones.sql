-- What is left of a conversation that was erased: the hash of its id, and of the command that had it
-- removed. Nothing of its content.

-- +goose Up
create table tombstones (
  tenant_id text not null,
  hash      text not null,
  command   text not null,
  erased_at integer not null,
  primary key (tenant_id, hash)
) strict, without rowid;

-- +goose Down
drop table tombstones;
