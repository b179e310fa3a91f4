-- Writing, second round trip: see append.go for the first.

-- name: InsertEntries :exec
insert into entries
  (tenant_id, conversation_id, seq, number, kind, agent_id, task_id, at, body)
select
  @tenant::text, @conversation::text, unnest(@seqs::bigint[]), unnest(@numbers::bigint[]),
  unnest(@kinds::text[]), unnest(@agents::text[]), unnest(@tasks::text[]),
  unnest(@ats::timestamptz[]), unnest(@bodies::text[])::jsonb;

-- name: InsertKeys :exec
insert into keys (tenant_id, conversation_id, key, seq, number)
select
  @tenant::text, @conversation::text, unnest(@keys::text[]), unnest(@seqs::bigint[]), unnest(@numbers::bigint[]);

-- name: AdvanceConversation :exec
update conversations
set last_seq = @last_seq, last_number = @last_number, updated_at = @at, bytes = bytes + @bytes
where tenant_id = @tenant and conversation_id = @conversation;

-- name: LockConversation :many
select conversation_id from conversations
where tenant_id = @tenant and conversation_id = @conversation for update;

-- name: EraseConversation :one
select erase_conversation(@tenant, @conversation)::boolean as was_there;

-- name: BodyOf :many
select e.body::text as body
from keys k
join entries e on e.tenant_id = k.tenant_id and e.conversation_id = k.conversation_id and e.seq = k.seq
where k.tenant_id = @tenant and k.conversation_id = @conversation and k.key = @key;

-- name: Bury :exec
insert into tombstones (tenant_id, hash, command, erased_at) values (@tenant, @hash, @command, now())
on conflict (tenant_id, hash) do update set command = excluded.command, erased_at = excluded.erased_at;

-- name: TombstoneOf :many
select command, erased_at from tombstones where tenant_id = @tenant and hash = @hash;

-- name: BeginMonth :exec
insert into spending (tenant_id, month, spent) values (@tenant, @month, 0) on conflict do nothing;

-- name: Reserve :execrows
update spending set spent = spent + @amount
where tenant_id = @tenant and month = @month and spent + @amount <= @most::bigint;

-- name: MonthSettled :exec
update spending set spent = spent + @change where tenant_id = @tenant and month = @month;

-- name: WipeTombstones :execrows
delete from tombstones d where d.tenant_id = @tenant and d.hash in (
  select t.hash from tombstones t where t.tenant_id = @tenant limit @count
);

-- name: WipeTexts :execrows
delete from texts d where d.tenant_id = @tenant and (d.conversation_id, d.hash) in (
  select t.conversation_id, t.hash from texts t where t.tenant_id = @tenant and not exists (
    select from conversations c where c.tenant_id = t.tenant_id and c.conversation_id = t.conversation_id
  ) limit @count
);

-- name: WipeSpending :exec
delete from spending where tenant_id = @tenant;
