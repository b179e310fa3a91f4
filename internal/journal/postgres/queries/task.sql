-- Tasks across conversations, and what became of those of each role. What a line needs from other tables is one look each
-- (lateral with a limit): a plan that was made while the tables were empty would read them whole, for as long as its
-- connection lasts. Keys are made beforehand: what is not leakproof, as || is not, finds nothing by an index behind row
-- level security.

-- name: NewestTasks :many
select
  sqlc.embed(t), a.role, c.opened_by, c.title, coalesce((
    select sum(m.cost) from model_calls m
    where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
      and m.agent_id = t.agent_id and m.task_id = t.task_id
  ), 0)::bigint as cost,
  begun.body::text as begun, coalesce(ended.body::text, '')::text as ended
from tasks t
cross join lateral (select 'end/' || t.task_id as ended offset 0) k
cross join lateral (
  select g.role from agents g
  where g.tenant_id = t.tenant_id and g.conversation_id = t.conversation_id and g.agent_id = t.agent_id limit 1
) a
cross join lateral (
  select v.opened_by, v.title from conversations v
  where v.tenant_id = t.tenant_id and v.conversation_id = t.conversation_id limit 1
) c
cross join lateral (
  select e.body from entries e
  where e.tenant_id = t.tenant_id and e.conversation_id = t.conversation_id and e.seq = t.seq limit 1
) begun
left join lateral (
  select s.seq from keys s
  where s.tenant_id = t.tenant_id and s.conversation_id = t.conversation_id and s.key = k.ended limit 1
) end_of on true
left join lateral (
  select e.body from entries e
  where e.tenant_id = t.tenant_id and e.conversation_id = t.conversation_id and e.seq = end_of.seq limit 1
) ended on true
where t.tenant_id = @tenant and t.assigned_at > '-infinity' and (t.assigned_at, t.conversation_id, t.task_id)
    < (@before::timestamptz, @before_conversation::text, @before_task::text)
  and (@conversation::text = '' or t.conversation_id = @conversation)
  and (@status::text = '' or t.status = @status)
  and (@role::text = '' or a.role = @role)
  and (@opened_by::text = '' or c.opened_by = @opened_by)
  and (@min_cost::bigint = 0 or @min_cost <= coalesce((
    select sum(m.cost) from model_calls m
    where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
      and m.agent_id = t.agent_id and m.task_id = t.task_id
  ), 0))
order by t.assigned_at desc, t.conversation_id desc, t.task_id desc
limit @count;

-- name: OpenTasks :many
select
  sqlc.embed(t), a.role, c.opened_by, c.title, coalesce((
    select sum(m.cost) from model_calls m
    where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
      and m.agent_id = t.agent_id and m.task_id = t.task_id
  ), 0)::bigint as cost,
  begun.body::text as begun, coalesce(ended.body::text, '')::text as ended
from tasks t
cross join lateral (select 'end/' || t.task_id as ended offset 0) k
cross join lateral (
  select g.role from agents g
  where g.tenant_id = t.tenant_id and g.conversation_id = t.conversation_id and g.agent_id = t.agent_id limit 1
) a
cross join lateral (
  select v.opened_by, v.title from conversations v
  where v.tenant_id = t.tenant_id and v.conversation_id = t.conversation_id limit 1
) c
cross join lateral (
  select e.body from entries e
  where e.tenant_id = t.tenant_id and e.conversation_id = t.conversation_id and e.seq = t.seq limit 1
) begun
left join lateral (
  select s.seq from keys s
  where s.tenant_id = t.tenant_id and s.conversation_id = t.conversation_id and s.key = k.ended limit 1
) end_of on true
left join lateral (
  select e.body from entries e
  where e.tenant_id = t.tenant_id and e.conversation_id = t.conversation_id and e.seq = end_of.seq limit 1
) ended on true
where t.tenant_id = @tenant and t.finished_at is null and (t.assigned_at, t.conversation_id, t.task_id)
    < (@before::timestamptz, @before_conversation::text, @before_task::text)
  and (@conversation::text = '' or t.conversation_id = @conversation)
  and (@status::text = '' or t.status = @status)
  and (@role::text = '' or a.role = @role)
  and (@opened_by::text = '' or c.opened_by = @opened_by)
  and (@min_cost::bigint = 0 or @min_cost <= coalesce((
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
    e.body ->> 'status' as status,
    coalesce(lag(e.seq) over (partition by e.conversation_id, e.task_id order by e.seq), 0) as began
  from conversations c
  cross join lateral (
    select f.tenant_id, f.conversation_id, f.agent_id, f.task_id, f.seq, f.at, f.body from entries f
    where f.tenant_id = c.tenant_id and f.conversation_id = c.conversation_id
      and f.kind in ('note_added', 'turn_ended') and f.kind = 'turn_ended'
    offset 0
  ) e
  where c.tenant_id = @tenant and c.updated_at >= @since::timestamptz
), runs as (
  select
    a.role, t.status, (extract(epoch from t.finished_at - t.started_at) * 1000)::bigint as took, coalesce((
      select sum(m.cost) from model_calls m
      where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
        and m.agent_id = t.agent_id and m.task_id = t.task_id
    ), 0) as cost, (
      select count(*) from questions q
      where q.tenant_id = t.tenant_id and q.conversation_id = t.conversation_id
        and q.task_id = t.task_id
    ) as questions
  from tasks t
  cross join lateral (
    select g.role, g.depth from agents g
    where g.tenant_id = t.tenant_id and g.conversation_id = t.conversation_id and g.agent_id = t.agent_id limit 1
  ) a
  where t.tenant_id = @tenant and t.assigned_at > '-infinity' and t.assigned_at >= @since::timestamptz
    and t.finished_at is not null
    and a.depth > 0
  union all
  select
    a.role, t.status, (extract(epoch from t.at - (
      select min(m.started_at) from model_calls m
      where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
        and m.agent_id = t.agent_id and m.seq > t.began and m.seq < t.seq
    )) * 1000)::bigint as took, coalesce((
      select sum(m.cost) from model_calls m
      where m.tenant_id = t.tenant_id and m.conversation_id = t.conversation_id
        and m.agent_id = t.agent_id and m.seq > t.began and m.seq < t.seq
    ), 0) as cost, (
      select count(*) from questions q
      where q.tenant_id = t.tenant_id and q.conversation_id = t.conversation_id
        and q.task_id = t.task_id and q.seq > t.began and q.seq < t.seq
    ) as questions
  from turns t
  cross join lateral (
    select g.role, g.depth from agents g
    where g.tenant_id = t.tenant_id and g.conversation_id = t.conversation_id and g.agent_id = t.agent_id limit 1
  ) a
  where t.at >= @since::timestamptz
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
  r.role, count(*) as runs, count(*) filter (where r.status = 'completed')::bigint as completed, sum(r.cost)::bigint as cost,
  sum(r.questions)::bigint as questions, coalesce(max(m.took), 0)::bigint as took
from runs r
left join middle m on m.role = r.role
group by r.role
order by r.role collate "C";
