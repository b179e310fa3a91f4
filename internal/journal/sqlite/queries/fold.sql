-- One query for each journal.Change, under its name.

-- name: ConversationOpened :exec
update conversations
set opened_by = @opened_by, title = @title, workspace = @workspace, opened_at = @at, private_to = @private_to
where tenant_id = @tenant and conversation_id = @conversation;

-- name: ConversationShared :exec
update conversations set private_to = ''
where tenant_id = @tenant and conversation_id = @conversation;

-- name: ConversationTitled :exec
update conversations set title = @title
where tenant_id = @tenant and conversation_id = @conversation;

-- name: ConversationArchived :exec
update conversations set archived = 1
where tenant_id = @tenant and conversation_id = @conversation;

-- name: AgentAdded :exec
insert into agents
  (tenant_id, conversation_id, agent_id, seq, parent_id, depth, role, role_hash, latest_task)
values (
  @tenant, @conversation, @agent, @seq, nullif(cast(@parent as text), ''), @depth, @role,
  @role_hash, @task
)
on conflict (tenant_id, conversation_id, agent_id) do update set latest_task = excluded.latest_task;

-- name: TaskAdded :exec
insert into tasks (
  tenant_id, conversation_id, task_id, agent_id, seq, parent_id, call_id, item, trigger_number,
  background, status, assigned_at
)
values (
  @tenant, @conversation, @task, @agent, @seq, @parent, @call, @item, @trigger_number, @background,
  'pending', @at
);

-- name: TaskMoved :exec
update tasks
set
  status = @status, reason = @reason,
  started_at = case
    when @status = 'running' then coalesce(started_at, cast(@at as integer)) else started_at
  end
where tenant_id = @tenant and conversation_id = @conversation and task_id = @task
  and finished_at is null;

-- name: TaskFinished :exec
update tasks set
  status = @status, reason = '', error_kind = @error_kind, finished_at = cast(@at as integer)
where tenant_id = @tenant and conversation_id = @conversation and task_id = @task;

-- name: InsertWords :execlastid
insert into message_words (words) values (@words);

-- name: MessageListed :exec
insert into messages
  (tenant_id, conversation_id, seq, agent_id, turn, speaker, in_chat, voided, at, word_row)
values (
  @tenant, @conversation, @seq, nullif(cast(@agent as text), ''), @turn, @speaker, @in_chat, @voided,
  @at, sqlc.narg(word_row)
);

-- name: CallAdded :exec
insert into tool_calls
  (tenant_id, conversation_id, agent_id, turn, item, call_id, task_id, seq, tool, voided)
values (@tenant, @conversation, @agent, @turn, @item, @call, @task, @seq, @tool, @voided)
on conflict do nothing;

-- name: ReplyTaken :exec
update messages set voided = 1
where tenant_id = @tenant and conversation_id = @conversation and agent_id = cast(@agent as text)
  and turn = @turn and speaker = 'assistant';

-- name: CallsTaken :exec
update tool_calls set voided = 1
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and turn = @turn;

-- name: ModelCallAdded :exec
insert into model_calls (
  tenant_id, conversation_id, task_id, call_id, agent_id, seq, request_type, turn, attempt, model,
  prompt_hash, status, started_at
)
values (
  @tenant, @conversation, @task, @call, @agent, @seq, @request_type, @turn, @attempt, @model,
  @prompt, 'running', @at
);

-- name: ModelCallFinished :exec
update model_calls
set
  status = @status, error_kind = @error_kind,
  model = coalesce(nullif(cast(@model as text), ''), model),
  input = @input, output = @output, cache_read = @cache_read, cache_write = @cache_write,
  reasoning = @reasoning, cost = @cost, unpriced = @unpriced,
  finished_at = cast(@at as integer), finished_seq = cast(@finished_seq as integer)
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and seq = @seq;

-- name: UsageAdded :exec
update agents
set
  input = input + @input, output = output + @output, cache_read = cache_read + @cache_read,
  cache_write = cache_write + @cache_write, reasoning = reasoning + @reasoning,
  cost = cost + @cost, unpriced = unpriced + @unpriced
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent;

-- name: LeaseHeld :exec
insert into leases
  (tenant_id, conversation_id, key, seq, agent_id, task_id, holder, tokens, cost)
values (@tenant, @conversation, @key, @seq, @agent, @task, @holder, @tokens, @cost)
on conflict (tenant_id, conversation_id, key) do update set holder = excluded.holder;

-- name: LeaseSettled :exec
update leases set settled = 1
where tenant_id = @tenant and conversation_id = @conversation and key = @key;

-- name: CallStarted :exec
update tool_calls
set
  started = 1, attempt = max(attempt, cast(@attempt as integer)),
  started_at = coalesce(started_at, cast(@at as integer))
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and turn = @turn and item = @item;

-- name: CallFinished :exec
update tool_calls set result = @result, finished_at = cast(@at as integer), duration = @duration
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and turn = @turn and item = @item;

-- name: QuestionAdded :exec
insert into questions
  (tenant_id, conversation_id, question_id, seq, agent_id, task_id, call_id, at, until)
values (@tenant, @conversation, @question, @seq, @agent, @task, @call, @at, @until);

-- name: QuestionShown :exec
update questions set relayed = 1
where tenant_id = @tenant and conversation_id = @conversation and question_id = @question;

-- name: QuestionClosed :exec
update questions set closed = 1, answered_by = @answered_by
where tenant_id = @tenant and conversation_id = @conversation and question_id = @question;

-- name: ApprovalAdded :exec
insert into approvals
  (tenant_id, conversation_id, agent_id, call_id, seq, task_id, tool, hash, status, at, until)
values (@tenant, @conversation, @agent, @call, @seq, @task, @tool, @hash, 'open', @at, @until);

-- name: ApprovalAnswered :exec
update approvals
set status = 'decided', allow = @allow, scope = @scope, decided_by = @decided_by, edited = @edited
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and call_id = @call and status = 'open';

-- name: ApprovalEnded :exec
update approvals
set
  status = @status, scope = coalesce(nullif(cast(@scope as text), ''), scope),
  decided_by = coalesce(nullif(cast(@decided_by as text), ''), decided_by)
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and call_id = @call;

-- name: CallHeld :exec
update tool_calls set wanted = 1
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and turn = @turn and item = @item;

-- name: CallReleased :exec
update tool_calls set closed = 1
where tenant_id = @tenant and conversation_id = @conversation and agent_id = @agent
  and turn = @turn and item = @item;

-- name: GrantAdded :exec
insert into grants (tenant_id, conversation_id, seq, tool, pattern)
values (@tenant, @conversation, @seq, @tool, @pattern);

-- name: MailAdded :exec
insert into mailbox (tenant_id, conversation_id, post_id, agent_id, seq, topic, at)
values (@tenant, @conversation, @post, @agent, @seq, @topic, @at);

-- name: MailRemoved :exec
delete from mailbox
where tenant_id = @tenant and conversation_id = @conversation and post_id = @post;
