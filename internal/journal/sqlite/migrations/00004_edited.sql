-- Whether a person allowed a call with other arguments than the model's.

-- +goose Up
alter table approvals add column edited integer not null default 0;

-- +goose Down
alter table approvals drop column edited;
