-- Tasks across conversations, and what became of those of each role.

-- name: NewestTasks :many
select
  sqlc.embed(t), a.role, c.opened_by, c.title, cast(coalesce((
    select sum(m.cost) from model_calls m
    where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
      and m.agent_id = t.agent_id and m.task_id = t.task_id
  ), 0) as integer) as cost,
  begun.body as begun, cast(coalesce(ended.body, '') as text) as ended
from tasks t indexed by tasks_newest
join agents a on a.tenant_id = t.tenant_id and a.conversation_id = t.conversation_id
  and a.agent_id = t.agent_id
join conversations c on c.tenant_id = t.tenant_id and c.conversation_id = t.conversation_id
join entries begun on begun.tenant_id = t.tenant_id and begun.conversation_id = t.conversation_id
  and begun.seq = t.seq
left join entries ended on ended.tenant_id = t.tenant_id
  and ended.conversation_id = t.conversation_id and ended.key = 'end/' || t.task_id
where t.tenant_id = @tenant and t.assigned_at <= @before
  and (t.assigned_at < @before or t.conversation_id < @before_conversation
    or (t.conversation_id = @before_conversation and t.task_id < @before_task))
  and (cast(@conversation as text) = '' or t.conversation_id = @conversation)
  and (cast(@status as text) = '' or t.status = @status)
  and (cast(@role as text) = '' or a.role = @role)
  and (cast(@opened_by as text) = '' or c.opened_by = @opened_by)
  and (cast(@min_cost as integer) = 0 or @min_cost <= coalesce((
    select sum(m.cost) from model_calls m
    where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
      and m.agent_id = t.agent_id and m.task_id = t.task_id
  ), 0))
order by t.assigned_at desc, t.conversation_id desc, t.task_id desc
limit @count;

-- name: OpenTasks :many
select
  sqlc.embed(t), a.role, c.opened_by, c.title, cast(coalesce((
    select sum(m.cost) from model_calls m
    where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
      and m.agent_id = t.agent_id and m.task_id = t.task_id
  ), 0) as integer) as cost,
  begun.body as begun, cast(coalesce(ended.body, '') as text) as ended
from tasks t indexed by tasks_open
join agents a on a.tenant_id = t.tenant_id and a.conversation_id = t.conversation_id
  and a.agent_id = t.agent_id
join conversations c on c.tenant_id = t.tenant_id and c.conversation_id = t.conversation_id
join entries begun on begun.tenant_id = t.tenant_id and begun.conversation_id = t.conversation_id
  and begun.seq = t.seq
left join entries ended on ended.tenant_id = t.tenant_id
  and ended.conversation_id = t.conversation_id and ended.key = 'end/' || t.task_id
where t.tenant_id = @tenant and t.finished_at is null and t.assigned_at <= @before
  and (t.assigned_at < @before or t.conversation_id < @before_conversation
    or (t.conversation_id = @before_conversation and t.task_id < @before_task))
  and (cast(@conversation as text) = '' or t.conversation_id = @conversation)
  and (cast(@status as text) = '' or t.status = @status)
  and (cast(@role as text) = '' or a.role = @role)
  and (cast(@opened_by as text) = '' or c.opened_by = @opened_by)
  and (cast(@min_cost as integer) = 0 or @min_cost <= coalesce((
    select sum(m.cost) from model_calls m
    where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
      and m.agent_id = t.agent_id and m.task_id = t.task_id
  ), 0))
order by t.assigned_at desc, t.conversation_id desc, t.task_id desc
limit @count;

-- name: RoleRunsSince :many
with turns as (
  select
    e.tenant_id, e.conversation_id, e.agent_id, e.task_id, e.seq, e.at,
    json_extract(e.body, '$.status') as status,
    coalesce(lag(e.seq) over (partition by e.conversation_id, e.task_id order by e.seq), 0) as began
  from conversations c
  join entries e indexed by entries_marks on e.tenant_id = c.tenant_id
    and e.conversation_id = c.conversation_id and e.kind in ('note_added', 'turn_ended')
  where c.tenant_id = @tenant and c.updated_at >= @since and e.kind = 'turn_ended'
), runs as (
  select
    a.role, t.status, t.finished_at - t.started_at as took, coalesce((
      select sum(m.cost) from model_calls m
      where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
        and m.agent_id = t.agent_id and m.task_id = t.task_id
    ), 0) as cost, (
      select count(*) from questions q
      where q.tenant_id = t.tenant_id and q.conversation_id = t.conversation_id
        and q.task_id = t.task_id
    ) as questions
  from tasks t
  join agents a on a.tenant_id = t.tenant_id and a.conversation_id = t.conversation_id
    and a.agent_id = t.agent_id
  where t.tenant_id = @tenant and t.assigned_at >= @since and t.finished_at is not null
    and a.depth > 0
  union all
  select
    a.role, t.status, t.at - (
      select min(m.started_at) from model_calls m
      where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
        and m.agent_id = t.agent_id and m.seq > t.began and m.seq < t.seq
    ) as took, coalesce((
      select sum(m.cost) from model_calls m
      where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
        and m.agent_id = t.agent_id and m.seq > t.began and m.seq < t.seq
    ), 0) as cost, (
      select count(*) from questions q
      where q.tenant_id = t.tenant_id and q.conversation_id = t.conversation_id
        and q.task_id = t.task_id and q.seq > t.began and q.seq < t.seq
    ) as questions
  from turns t
  join agents a on a.tenant_id = t.tenant_id and a.conversation_id = t.conversation_id
    and a.agent_id = t.agent_id
  where t.at >= @since
), ranked as (
  select
    role, took, row_number() over (partition by role order by took) as place,
    count(*) over (partition by role) as runs
  from runs
  where took is not null
), middle as (
  select role, took from ranked
  where place = (runs + 1) / 2
)
select
  r.role, count(*) as runs, cast(sum(iif(r.status = 'completed', 1, 0)) as integer) as completed, cast(sum(r.cost) as integer) as cost,
  cast(sum(r.questions) as integer) as questions, cast(coalesce(max(m.took), 0) as integer) as took
from runs r
left join middle m on m.role = r.role
group by r.role
order by r.role;
