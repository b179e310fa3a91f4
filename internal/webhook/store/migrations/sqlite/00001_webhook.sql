-- Webhooks: whom to tell, how far each conversation was read, and what is to be sent. No content: what
-- is sent is made from the journal when it is sent.

-- +goose Up
create table webhook_tenants (
  tenant_id text not null primary key,
  swept_ms  integer not null
) strict;

create table webhooks (
  tenant_id  text not null,
  webhook_id text not null,
  url        text not null,
  secret     text not null,
  types      text not null,
  made_by    text not null,
  made_ms    integer not null,
  primary key (tenant_id, webhook_id)
) strict;

create table webhook_cursors (
  tenant_id       text not null,
  conversation_id text not null,
  seq             integer not null,
  watch_ms        integer not null default 0,
  primary key (tenant_id, conversation_id)
) strict;

create index webhook_watched on webhook_cursors (tenant_id, watch_ms) where watch_ms > 0;

create table webhook_deliveries (
  tenant_id       text not null,
  webhook_id      text not null,
  delivery_id     text not null,
  conversation_id text not null,
  seq             integer not null,
  type            text not null,
  status          text not null,
  attempts        integer not null default 0,
  made_ms         integer not null,
  next_ms         integer not null,
  end_ms          integer not null,
  tried_ms        integer not null default 0,
  code            integer not null default 0,
  problem         text not null default '',
  primary key (tenant_id, webhook_id, delivery_id),
  foreign key (tenant_id, webhook_id) references webhooks on delete cascade
) strict;

-- The key of each tenant that seals the secrets of its webhooks, wrapped by the installation's.
create table webhook_keys (
  tenant_id text not null primary key,
  wrapped   text not null
) strict;

-- Which commands had a delivery sent again, so that one that comes twice is carried out once. They go with the delivery.
create table webhook_replays (
  tenant_id   text not null,
  webhook_id  text not null,
  delivery_id text not null,
  command     text not null,
  primary key (tenant_id, webhook_id, delivery_id, command),
  foreign key (tenant_id, webhook_id, delivery_id) references webhook_deliveries on delete cascade
) strict;

create index webhook_due on webhook_deliveries (tenant_id, webhook_id, next_ms) where status = 'pending';
create index webhook_made on webhook_deliveries (tenant_id, webhook_id, made_ms, delivery_id);

-- +goose Down
drop table webhook_replays;
drop table webhook_keys;
drop table webhook_deliveries;
drop table webhook_cursors;
drop table webhooks;
drop table webhook_tenants;
