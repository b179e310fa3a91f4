-- What waits is mail, and says which agent it waits for. What has none is for the server itself.

-- +goose Up
alter table outbox rename to mailbox;
alter table mailbox add column agent_id text not null default '';
drop index outbox_oldest;
create index mailbox_oldest on mailbox (at);

-- +goose Down
drop index mailbox_oldest;
alter table mailbox drop column agent_id;
alter table mailbox rename to outbox;
create index outbox_oldest on outbox (at);
