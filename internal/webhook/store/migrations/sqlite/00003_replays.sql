-- Which commands had a delivery sent again, so that one that comes twice is carried out once. They go with
-- the delivery.

-- +goose Up
create table webhook_replays (
  tenant_id   text not null,
  webhook_id  text not null,
  delivery_id text not null,
  command     text not null,
  primary key (tenant_id, webhook_id, delivery_id, command),
  foreign key (tenant_id, webhook_id, delivery_id) references webhook_deliveries on delete cascade
) strict;

-- +goose Down
drop table webhook_replays;
