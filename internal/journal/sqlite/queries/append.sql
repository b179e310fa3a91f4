-- Writing: what is there already, and what is new.

-- name: OpenConversation :exec
insert into conversations (tenant_id, conversation_id, opened_at, updated_at)
values (@tenant, @conversation, @at, @at)
on conflict do nothing;

-- name: LookUp :many
select e.key, e.seq, e.number
from json_each(cast(@keys as text)) k
cross join entries e on e.tenant_id = @tenant and e.conversation_id = @conversation
  and e.key = k.value
union all
select '', c.last_seq, c.last_number
from conversations c
where c.tenant_id = @tenant and c.conversation_id = @conversation;

-- name: InsertEntry :exec
insert into entries
  (tenant_id, conversation_id, seq, number, key, kind, agent_id, task_id, at, body)
values (@tenant, @conversation, @seq, @number, @key, @kind, @agent, @task, @at, @body);

-- name: AdvanceConversation :exec
update conversations
set last_seq = @last_seq, last_number = @last_number, updated_at = @at, bytes = bytes + @bytes
where tenant_id = @tenant and conversation_id = @conversation;

-- name: KeepText :exec
insert into texts (tenant_id, conversation_id, hash, text) values (@tenant, @conversation, @hash, @text)
on conflict do nothing;

-- name: MayKeep :one
-- A conversation that is about to begin is not there yet. One that was erased keeps nothing.
select cast(exists (select 1 from conversations c where c.tenant_id = @tenant and c.conversation_id = @conversation)
  or not exists (select 1 from tombstones t where t.tenant_id = @tenant and t.hash = @hash) as integer) as may;

-- name: EraseMessages :exec
delete from messages where tenant_id = @tenant and conversation_id = @conversation;

-- name: EraseTexts :exec
delete from texts where tenant_id = @tenant and conversation_id = @conversation;

-- name: EraseConversation :execrows
delete from conversations where tenant_id = @tenant and conversation_id = @conversation;

-- name: BodyOf :many
select body as body from entries
where tenant_id = @tenant and conversation_id = @conversation and key = @key;

-- name: Bury :exec
insert into tombstones (tenant_id, hash, command, erased_at) values (@tenant, @hash, @command, cast(unixepoch('subsec') * 1000 as integer))
on conflict (tenant_id, hash) do update set command = excluded.command, erased_at = excluded.erased_at;

-- name: TombstoneOf :many
select command, erased_at from tombstones where tenant_id = @tenant and hash = @hash;

-- name: BeginMonth :exec
insert into spending (tenant_id, month, spent) values (@tenant, @month, 0) on conflict do nothing;

-- name: Reserve :execrows
update spending set spent = spent + @amount
where tenant_id = @tenant and month = @month and spent + @amount <= cast(@most as integer);

-- name: MonthSettled :exec
update spending set spent = spent + @change where tenant_id = @tenant and month = @month;
