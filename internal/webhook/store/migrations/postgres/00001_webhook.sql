-- Webhooks: whom to tell, how far each conversation was read, and what is to be sent. No content: what
-- is sent is made from the journal when it is sent.

-- +goose Up

-- The tenants that have webhooks, and when their conversations were last looked through.
create table webhook_tenants (
  tenant_id text collate "C" not null primary key check (tenant_id not in ('', '*')),
  swept_ms  bigint not null
);

create table webhooks (
  tenant_id  text collate "C" not null,
  webhook_id text collate "C" not null,
  url        text not null,
  secret     text not null,
  types      text not null,
  made_by    text not null,
  made_ms    bigint not null,
  primary key (tenant_id, webhook_id)
);

create table webhook_cursors (
  tenant_id       text collate "C" not null,
  conversation_id text collate "C" not null,
  seq             bigint not null,
  -- until when a conversation that is off the list is looked at nevertheless.
  watch_ms        bigint not null default 0,
  primary key (tenant_id, conversation_id)
);

create index webhook_watched on webhook_cursors (tenant_id, watch_ms) where watch_ms > 0;

create table webhook_deliveries (
  tenant_id       text collate "C" not null,
  webhook_id      text collate "C" not null,
  delivery_id     text collate "C" not null,
  conversation_id text collate "C" not null,
  seq             bigint not null,
  type            text not null,
  status          text not null,
  attempts        bigint not null default 0,
  made_ms         bigint not null,
  -- next_ms is when it is tried next, end_ms when that ends; a process that tries moves next_ms on.
  next_ms         bigint not null,
  end_ms          bigint not null,
  tried_ms        bigint not null default 0,
  code            bigint not null default 0,
  problem         text not null default '',
  primary key (tenant_id, webhook_id, delivery_id),
  foreign key (tenant_id, webhook_id) references webhooks on delete cascade
);

-- The key of each tenant that seals the secrets of its webhooks, wrapped by the installation's.
create table webhook_keys (
  tenant_id text collate "C" not null primary key check (tenant_id not in ('', '*')),
  wrapped   text not null
);

-- Which commands had a delivery sent again, so that one that comes twice is carried out once. They go with the delivery.
create table webhook_replays (
  tenant_id   text collate "C" not null check (tenant_id not in ('', '*')),
  webhook_id  text collate "C" not null,
  delivery_id text collate "C" not null,
  command     text collate "C" not null,
  primary key (tenant_id, webhook_id, delivery_id, command),
  foreign key (tenant_id, webhook_id, delivery_id) references webhook_deliveries on delete cascade
);

create index webhook_due on webhook_deliveries (tenant_id, webhook_id, next_ms) where status = 'pending';
create index webhook_made on webhook_deliveries (tenant_id, webhook_id, made_ms, delivery_id);

-- +goose StatementBegin
do $$
declare
  t text;
begin
  foreach t in array array[
    'webhook_tenants', 'webhooks', 'webhook_cursors', 'webhook_deliveries', 'webhook_keys', 'webhook_replays'
  ] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format(
      'create policy tenant on %I using (tenant_id = (select app_tenant()))'
      ' with check (tenant_id = (select app_tenant()))', t);
    execute format('grant select, insert, update, delete on %I to retinue_app', t);
  end loop;
end
$$;
-- +goose StatementEnd

-- A transaction of nobody in particular may see which tenants there is work for, and change nothing.
create policy sweep on webhook_tenants for select using ((select app_tenant()) = '*');

-- +goose Down
drop table webhook_replays, webhook_keys, webhook_deliveries, webhook_cursors, webhooks, webhook_tenants;
