-- The tasks that have not ended, for whoever looks whether the engine still runs them.

-- +goose Up
create index tasks_working on tasks (tenant_id, conversation_id, task_id)
  where status in ('queued', 'pending', 'running', 'waiting');

-- +goose Down
drop index tasks_working;
