-- The key of each tenant that seals the secrets of its webhooks, wrapped by the installation's. Secrets
-- that were kept as they are, are sealed by the first server that reads them.

-- +goose Up
create table webhook_keys (
  tenant_id text not null primary key,
  wrapped   text not null
) strict;

-- +goose Down
drop table webhook_keys;
