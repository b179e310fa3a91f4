-- Which commands had a delivery sent again, so that one that comes twice is carried out once. They go with
-- the delivery.

-- +goose Up
create table webhook_replays (
  tenant_id   text collate "C" not null check (tenant_id not in ('', '*')),
  webhook_id  text collate "C" not null,
  delivery_id text collate "C" not null,
  command     text collate "C" not null,
  primary key (tenant_id, webhook_id, delivery_id, command),
  foreign key (tenant_id, webhook_id, delivery_id) references webhook_deliveries on delete cascade
);

alter table webhook_replays enable row level security;
alter table webhook_replays force row level security;
create policy tenant on webhook_replays using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
grant select, insert, update, delete on webhook_replays to retinue_app;

-- +goose Down
drop table webhook_replays;
