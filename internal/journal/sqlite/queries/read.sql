-- Reading. Every query but the sweeper's names its tenant.

-- name: ConversationOf :one
select * from conversations where tenant_id = @tenant and conversation_id = @conversation;

-- name: EntriesAfter :many
-- A page ends with the entry that makes it too large. What comes before that is summed up here, so that
-- no more than this is read.
with page as (
  select e.seq, e.number, e.kind, e.at, e.body from entries e
  where e.tenant_id = @tenant and e.conversation_id = @conversation and e.seq > @after
  order by e.seq
  limit @count
), sized as (
  select p.seq, p.number, p.kind, p.at, p.body,
    sum(length(cast(p.body as blob))) over (order by p.seq) - length(cast(p.body as blob)) as gone
  from page p
)
select s.seq, s.number, s.kind, s.at, s.body from sized s where s.gone < cast(@bytes as integer)
order by s.seq;

-- name: EntriesByKey :many
select e.seq, e.number, e.kind, e.at, e.body
from entries e
where e.tenant_id = @tenant and e.conversation_id = @conversation
  and e.key in (select k.value from json_each(cast(@keys as text)) k)
order by +e.seq;

-- name: MailOf :many
select e.seq, e.number, e.kind, e.at, e.body from mailbox b
join entries e on e.tenant_id = b.tenant_id and e.conversation_id = b.conversation_id and e.seq = b.seq
where b.tenant_id = @tenant and b.conversation_id = @conversation and b.agent_id = @agent
order by b.seq;

-- name: MailboxesOf :many
select distinct agent_id from mailbox
where tenant_id = @tenant and conversation_id = @conversation and agent_id <> ''
order by agent_id;

-- name: StepsOf :many
select e.seq, e.number, e.kind, e.at, e.body from entries e
where e.tenant_id = @tenant and e.conversation_id = @conversation and e.task_id = @task
  and e.kind = 'stepped' and e.seq > coalesce((
    select a.seq from entries a
    where a.tenant_id = @tenant and a.conversation_id = @conversation and a.key = @after_key
  ), 0)
order by e.seq;

-- Without being told, SQLite walks all messages of the conversation.
-- name: TranscriptOf :many
select m.seq, e.number, e.kind, e.at, e.body
from messages m indexed by messages_of_agent
join entries e on e.tenant_id = m.tenant_id and e.conversation_id = m.conversation_id
  and e.seq = m.seq
where m.tenant_id = @tenant and m.conversation_id = @conversation
  and m.agent_id = cast(@agent as text) and not m.voided and m.seq < @before
order by m.seq desc
limit @count;

-- name: ChatOf :many
with page as (
  select m.seq, e.number, e.kind, e.at, e.body
  from messages m
  join entries e on e.tenant_id = m.tenant_id and e.conversation_id = m.conversation_id
    and e.seq = m.seq
  where m.tenant_id = @tenant and m.conversation_id = @conversation and m.in_chat
    and not m.voided and m.seq < @before
  order by m.seq desc
  limit @count
), sized as (
  select p.seq, p.number, p.kind, p.at, p.body,
    sum(length(cast(p.body as blob))) over (order by p.seq desc) - length(cast(p.body as blob)) as gone
  from page p
)
select s.seq, s.number, s.kind, s.at, s.body from sized s where s.gone < cast(@bytes as integer)
order by s.seq desc;

-- name: MarksOf :many
select e.seq, e.number, e.kind, e.at, e.body
from entries e indexed by entries_marks
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
order by seq desc, item desc
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
  id, session_id, cast(coalesce(parent_message_id, 0) as integer) as parent_message_id, started_at,
  completed_at, cast(coalesce(duration_ms, 0) as integer) as duration_ms, agent_role, agent_depth,
  model_id, system_prompt_id, request_type, cast(request_content as text) as request_content,
  cast(context_mode as text) as context_mode,
  cast(context_token_count as integer) as context_token_count,
  cast(response_content as text) as response_content,
  cast(response_summary as text) as response_summary,
  cast(tool_calls_json as text) as tool_calls_json,
  cast(files_modified_json as text) as files_modified_json, prompt_tokens, completion_tokens,
  cast(iteration_count as integer) as iteration_count,
  cast(max_iterations as integer) as max_iterations,
  cast(max_duration_ms as integer) as max_duration_ms,
  cast(bailout_reason as text) as bailout_reason, status,
  cast(error_message as text) as error_message, cast(metadata_json as text) as metadata_json
from records
where tenant_id = @tenant and session_id = @conversation
order by id;

-- name: RecentConversations :many
select * from conversations
where tenant_id = @tenant and not archived
  and (updated_at < @before or (updated_at = @before and conversation_id < @before_id))
order by updated_at desc, conversation_id desc
limit @count;

-- name: UntouchedConversations :many
select conversation_id from conversations
where tenant_id = @tenant and conversation_id > @after and updated_at < @before
order by conversation_id
limit @count;

-- name: WeightOf :many
select c.last_seq as row_count,
  (select count(*) from texts t where t.tenant_id = c.tenant_id and t.conversation_id = c.conversation_id) as texts,
  cast(coalesce((select sum(length(cast(t.text as blob))) from texts t
    where t.tenant_id = c.tenant_id and t.conversation_id = c.conversation_id), 0)
  + coalesce((select sum(length(cast(e.body as blob))) from entries e
    where e.tenant_id = c.tenant_id and e.conversation_id = c.conversation_id), 0) as integer) as bytes
from conversations c where c.tenant_id = @tenant and c.conversation_id = @conversation;

-- name: TailsOf :many
select c.conversation_id, c.last_seq, c.last_number from conversations c
where c.tenant_id = @tenant
  and c.conversation_id in (select k.value from json_each(cast(@conversations as text)) k);

-- name: LinesOf :many
select sqlc.embed(c), (
  select count(*) from tasks t
  where t.tenant_id = c.tenant_id and t.conversation_id = c.conversation_id
    and t.status in ('queued', 'pending', 'running')
) as running, cast(coalesce((
  select json_extract(e.body, '$.status') from entries e indexed by entries_marks
  where e.tenant_id = c.tenant_id and e.conversation_id = c.conversation_id
    and e.kind in ('note_added', 'turn_ended') and e.kind = 'turn_ended'
  order by e.seq desc limit 1
), '') as text) as ended
from conversations c
where c.tenant_id = @tenant
  and c.conversation_id in (select k.value from json_each(cast(@conversations as text)) k);

-- name: WaitingFor :many
select
  q.conversation_id, q.seq, q.at, q.agent_id, q.task_id,
  cast('ask/' || q.question_id as text) as entry_key, q.until, c.private_to
from questions q
join conversations c on c.tenant_id = q.tenant_id and c.conversation_id = q.conversation_id
where q.tenant_id = @tenant and q.relayed and not q.closed
union all
select
  a.conversation_id, a.seq, a.at, a.agent_id, a.task_id,
  cast('approval/' || a.agent_id || '#' || a.call_id as text) as entry_key, a.until, c.private_to
from approvals a
join conversations c on c.tenant_id = a.tenant_id and c.conversation_id = a.conversation_id
where a.tenant_id = @tenant and a.status = 'open'
order by 3, 1, 2
limit @count;

-- name: SearchMessages :many
select
  m.conversation_id, m.seq, m.at, coalesce(m.agent_id, '') as agent_id, m.speaker, e.kind, e.body
from message_words
join messages m on m.word_row = message_words.rowid
join entries e on e.tenant_id = m.tenant_id and e.conversation_id = m.conversation_id
  and e.seq = m.seq
where message_words.words match @words and m.tenant_id = @tenant and not m.voided
  and (cast(@conversation as text) = '' or m.conversation_id = @conversation)
  and (cast(@sub_agents as boolean) or m.in_chat)
order by m.at desc, m.conversation_id, m.seq desc
limit @count;

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
  and (tenant_id, conversation_id, task_id) > (cast(@after_tenant as text), cast(@after_conversation as text), cast(@after_task as text))
order by tenant_id, conversation_id, task_id
limit @count;

-- name: SpentIn :many
select spent from spending where tenant_id = @tenant and month = @month;

-- name: StoredBy :one
-- octet_length looks at a header, not at the text.
select cast((select coalesce(sum(c.bytes), 0) from conversations c where c.tenant_id = @tenant)
  + (select coalesce(sum(octet_length(t.text)), 0) from texts t where t.tenant_id = @tenant) as integer) as bytes;
