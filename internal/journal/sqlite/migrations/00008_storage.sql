-- How much the rows of a conversation hold, for the storage that a tenant may use.

-- +goose Up
alter table conversations add column bytes integer not null default 0;

-- +goose Down
alter table conversations drop column bytes;
