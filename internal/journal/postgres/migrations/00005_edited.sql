-- Whether a person allowed a call with other arguments than the model's.

-- +goose Up
alter table approvals add column edited boolean not null default false;

-- +goose Down
alter table approvals drop column edited;
