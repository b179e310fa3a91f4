-- What pages show beside messages, and tasks across conversations.

-- +goose Up
create index entries_marks on entries (tenant_id, conversation_id, seq)
  where kind in ('noted', 'turn_ended');
create index tasks_newest on tasks (tenant_id, assigned_at, conversation_id, task_id);
create index tasks_open on tasks (tenant_id, assigned_at, conversation_id, task_id)
  where finished_at is null;

-- +goose Down
drop index tasks_open;
drop index tasks_newest;
drop index entries_marks;
