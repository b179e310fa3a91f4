-- Conversations that only the person who began them may see.

-- +goose Up
alter table conversations add column private_to text not null default '';

-- +goose Down
alter table conversations drop column private_to;
