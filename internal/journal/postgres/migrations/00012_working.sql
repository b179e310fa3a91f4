-- The tasks that have not ended, for whoever looks whether the engine still runs them.

-- +goose Up
create index tasks_working on tasks (tenant_id, conversation_id, task_id)
  where status in ('queued', 'pending', 'running', 'waiting');
-- A transaction of nobody in particular may see them too, and change nothing.
create policy sweep on tasks for select
  using ((select app_tenant()) = '*' and status in ('queued', 'pending', 'running', 'waiting'));

-- +goose Down
drop policy sweep on tasks;
drop index tasks_working;
