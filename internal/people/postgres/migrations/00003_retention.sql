-- A tenant may have conversations deleted that nobody touches.

-- +goose Up

-- Zero keeps them.
alter table people.tenants add column retention_days integer not null default 0 check (retention_days >= 0);
