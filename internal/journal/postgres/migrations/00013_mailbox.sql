-- What waits is mail, and says which agent it waits for. What has none is for the server itself.

-- +goose Up
alter table outbox rename to mailbox;
alter index outbox_oldest rename to mailbox_oldest;
alter table mailbox add column agent_id text collate "C" not null default '';
alter table mailbox alter column agent_id drop default;

-- +goose Down
alter table mailbox drop column agent_id;
alter index mailbox_oldest rename to outbox_oldest;
alter table mailbox rename to outbox;
