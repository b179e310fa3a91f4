-- Reading. Every query names its tenant, although row level security would do without.

-- name: ConversationOf :one
select * from conversations where tenant_id = @tenant and conversation_id = @conversation;

-- name: EntriesAfter :many
-- A page ends with the entry that makes it too large. What comes before that is summed up here, so that
-- no more than this is sent.
with page as materialized (
  select e.seq, e.number, e.kind, e.at, e.body::text as body from entries e
  where e.tenant_id = @tenant and e.conversation_id = @conversation and e.seq > @after
  order by e.seq
  limit @count
), sized as (
  select p.*, sum(octet_length(p.body)) over (order by p.seq) - octet_length(p.body) as gone from page p
)
select s.seq, s.number, s.kind, s.at, s.body from sized s where s.gone < @bytes::bigint
order by s.seq;

-- name: EntriesByKey :many
select e.seq, e.number, e.kind, e.at, e.body::text as body
from unnest(@keys::text[]) as wanted (key)
cross join lateral (
  select k.seq from keys k
  where k.tenant_id = @tenant and k.conversation_id = @conversation and k.key = wanted.key limit 1
) at
cross join lateral (
  select * from entries f
  where f.tenant_id = @tenant and f.conversation_id = @conversation and f.seq = at.seq limit 1
) e
order by e.seq;

-- name: MailOf :many
select e.seq, e.number, e.kind, e.at, e.body::text as body from mailbox b
cross join lateral (
  select * from entries f
  where f.tenant_id = b.tenant_id and f.conversation_id = b.conversation_id and f.seq = b.seq limit 1
) e
where b.tenant_id = @tenant and b.conversation_id = @conversation and b.agent_id = @agent and b.agent_id <> ''
order by b.seq;

-- name: MailboxesOf :many
select distinct agent_id from mailbox
where tenant_id = @tenant and conversation_id = @conversation and agent_id <> ''
order by agent_id;

-- name: StepsOf :many
-- The place of the last step is a value by itself. Around a coalesce the policies would be looked at first, and all steps read for that.
select e.seq, e.number, e.kind, e.at, e.body::text as body from entries e
where e.tenant_id = @tenant and e.conversation_id = @conversation and e.task_id = @task
  and e.kind = 'stepped' and e.seq > (
    select coalesce(max(k.seq), 0) from keys k
    where k.tenant_id = @tenant and k.conversation_id = @conversation and k.key = @after_key
  )
order by e.seq;

-- name: TranscriptOf :many
select m.seq, e.number, e.kind, e.at, e.body::text as body
from messages m
cross join lateral (
  select * from entries f
  where f.tenant_id = m.tenant_id and f.conversation_id = m.conversation_id and f.seq = m.seq limit 1
) e
where m.tenant_id = @tenant and m.conversation_id = @conversation and m.agent_id = @agent::text
  and not m.voided and m.seq < @before
order by m.seq desc
limit @count;

-- name: ChatOf :many
with page as materialized (
  select m.seq, e.number, e.kind, e.at, e.body::text as body
  from messages m
  cross join lateral (
    select * from entries f
    where f.tenant_id = m.tenant_id and f.conversation_id = m.conversation_id and f.seq = m.seq limit 1
  ) e
  where m.tenant_id = @tenant and m.conversation_id = @conversation and m.in_chat
    and not m.voided and m.seq < @before
  order by m.seq desc
  limit @count
), sized as (
  select p.*, sum(octet_length(p.body)) over (order by p.seq desc) - octet_length(p.body) as gone from page p
)
select s.seq, s.number, s.kind, s.at, s.body from sized s where s.gone < @bytes::bigint
order by s.seq desc;

-- name: MarksOf :many
select e.seq, e.number, e.kind, e.at, e.body::text as body
from entries e
where e.tenant_id = @tenant and e.conversation_id = @conversation
  and e.kind in ('note_added', 'turn_ended') and e.seq < @before
order by e.seq desc
limit @count;

-- name: AgentsOf :many
select * from agents where tenant_id = @tenant and conversation_id = @conversation order by seq;

-- name: TasksOf :many
select * from tasks where tenant_id = @tenant and conversation_id = @conversation order by seq;

-- name: ModelCallsOf :many
select * from model_calls
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and seq < @before
order by seq desc
limit @count;

-- name: ToolCallsOf :many
select * from tool_calls
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and seq < @before
order by turn desc, item desc
limit @count;

-- name: QuestionsOf :many
select * from questions
where tenant_id = @tenant and conversation_id = @conversation order by seq;

-- name: ApprovalsOf :many
select * from approvals
where tenant_id = @tenant and conversation_id = @conversation order by seq;

-- name: GrantsOf :many
select * from grants where tenant_id = @tenant and conversation_id = @conversation order by seq;

-- name: OpenLeasesOf :many
select * from leases
where tenant_id = @tenant and conversation_id = @conversation and not settled
order by seq;

-- name: RecordsOf :many
select
  id, session_id, coalesce(parent_message_id, 0)::bigint as parent_message_id, started_at,
  completed_at, coalesce(duration_ms, 0)::bigint as duration_ms, agent_role, agent_depth, model_id,
  system_prompt_id, request_type, request_content::text as request_content,
  context_mode::text as context_mode, context_token_count::bigint as context_token_count,
  response_content::text as response_content, response_summary,
  tool_calls_json::text as tool_calls_json, files_modified_json::text as files_modified_json,
  prompt_tokens::bigint as prompt_tokens, completion_tokens::bigint as completion_tokens,
  iteration_count::int as iteration_count, max_iterations::int as max_iterations,
  max_duration_ms::bigint as max_duration_ms, bailout_reason::text as bailout_reason, status,
  error_message::text as error_message, metadata_json::text as metadata_json
from records
where tenant_id = @tenant and session_id = @conversation
order by id;

-- name: RecentConversations :many
select * from conversations
where tenant_id = @tenant and not archived
  and (updated_at, conversation_id) < (@before::timestamptz, @before_id::text)
order by updated_at desc, conversation_id desc
limit @count;

-- name: UntouchedConversations :many
select conversation_id from conversations
where tenant_id = @tenant and conversation_id > @after::text and updated_at < @before
order by conversation_id
limit @count;

-- name: WeightOf :many
-- Neither size reads what it measures: octet_length and pg_column_size look at headers.
select c.last_seq as row_count,
  (select count(*) from texts t where t.tenant_id = c.tenant_id and t.conversation_id = c.conversation_id) as texts,
  (coalesce((select sum(octet_length(t.text)) from texts t
    where t.tenant_id = c.tenant_id and t.conversation_id = c.conversation_id), 0)
  + coalesce((select sum(pg_column_size(e.body)) from entries e
    where e.tenant_id = c.tenant_id and e.conversation_id = c.conversation_id), 0))::bigint as bytes
from conversations c where c.tenant_id = @tenant and c.conversation_id = @conversation;

-- name: TailsOf :many
select c.conversation_id, c.last_seq, c.last_number from conversations c
where c.tenant_id = @tenant and c.conversation_id = any(@conversations::text[]);

-- name: LinesOf :many
select sqlc.embed(c), (
  select count(*) from tasks t
  where t.tenant_id = c.tenant_id and t.conversation_id = c.conversation_id
    and t.status in ('queued', 'pending', 'running')
) as running, coalesce((
  select e.body ->> 'status' from entries e
  where e.tenant_id = c.tenant_id and e.conversation_id = c.conversation_id
    and e.kind in ('note_added', 'turn_ended') and e.kind = 'turn_ended'
  order by e.seq desc limit 1
), '')::text as ended
from conversations c
where c.tenant_id = @tenant and c.conversation_id = any(@conversations::text[]);

-- name: WaitingFor :many
select w.conversation_id, w.seq, w.at, w.agent_id, w.task_id, w.entry_key, w.until, c.private_to
from (
  select q.tenant_id, q.conversation_id, q.seq, q.at, q.agent_id, q.task_id, ('ask/' || q.question_id)::text as entry_key, q.until
  from questions q where q.tenant_id = @tenant and q.relayed and not q.closed
  union all
  select a.tenant_id, a.conversation_id, a.seq, a.at, a.agent_id, a.task_id,
    ('approval/' || a.agent_id || '#' || a.call_id)::text as entry_key, a.until
  from approvals a where a.tenant_id = @tenant and a.status = 'open'
  order by at, conversation_id, seq
  limit @count
) w
join conversations c on c.tenant_id = w.tenant_id and c.conversation_id = w.conversation_id
order by w.at, w.conversation_id, w.seq;

-- name: SearchMessages :many
select distinct m.conversation_id, m.seq, m.at, m.agent_id, m.speaker,
  e.kind, e.body::text as body
from search_messages(@words::text[], @conversation::text, @sub_agents::boolean, @count::int) as found
join messages m on m.tenant_id = @tenant and m.conversation_id = found.conversation_id and m.agent_id = found.agent_id and m.seq = found.seq
join entries e on e.tenant_id = @tenant and e.conversation_id = found.conversation_id and e.seq = found.seq
order by m.at desc, m.conversation_id, m.seq desc
limit @count::int;

-- name: TextOf :one
select text from texts where tenant_id = @tenant and conversation_id = @conversation and hash = @hash;

-- name: PendingPosts :many
select tenant_id, conversation_id, post_id, agent_id, topic, at from (
  select o.*, row_number() over (partition by o.tenant_id order by o.at, o.conversation_id, o.seq) as turn
  from mailbox o
  where o.at < @before
) as posts
order by turn, at, tenant_id, conversation_id, seq
limit @count;

-- name: ArrivedPosts :many
select tenant_id, conversation_id, post_id, agent_id, topic, at from mailbox
where at > @after
order by at desc
limit @count;

-- name: WorkingTasks :many
select tenant_id, conversation_id, task_id, agent_id, parent_id, background from tasks
where status in ('queued', 'pending', 'running', 'waiting') and (parent_id <> '' or status <> 'pending')
  and assigned_at < @before
  and (tenant_id, conversation_id, task_id) > (@after_tenant::text, @after_conversation::text, @after_task::text)
order by tenant_id, conversation_id, task_id
limit @count;

-- name: SpentIn :many
select spent from spending where tenant_id = @tenant and month = @month;

-- name: StoredBy :one
-- octet_length looks at a header, not at the text.
select ((select coalesce(sum(c.bytes), 0) from conversations c where c.tenant_id = @tenant)
  + (select coalesce(sum(octet_length(t.text)), 0) from texts t where t.tenant_id = @tenant))::bigint as bytes;
