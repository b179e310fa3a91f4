-- name: UsageOf :many
select
  (case @grouped::text
    when 'agent' then c.agent_id
    when 'role' then a.role
    when 'model' then c.model
    when 'turn' then c.agent_id || '#' || c.turn
    else c.conversation_id
  end collate "C")::text as name,
  count(*)::bigint as calls,
  sum(c.input)::bigint as input, sum(c.output)::bigint as output, sum(c.cache_read)::bigint as cache_read,
  sum(c.cache_write)::bigint as cache_write, sum(c.reasoning)::bigint as reasoning,
  sum(c.cost)::bigint as cost, sum(c.unpriced)::bigint as unpriced
from model_calls c
join agents a using (tenant_id, conversation_id, agent_id)
where c.tenant_id = @tenant and (@conversation::text = '' or c.conversation_id = @conversation)
  and c.started_at >= @since::timestamptz and c.started_at < @until::timestamptz
group by 1
order by min(c.started_at), 1;

-- name: ArchivedConversations :many
select * from conversations
where tenant_id = @tenant and archived
  and (updated_at, conversation_id) < (@before::timestamptz, @before_id::text)
order by updated_at desc, conversation_id desc
limit @count;
