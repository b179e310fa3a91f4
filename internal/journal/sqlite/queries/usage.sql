-- name: UsageOf :many
select
  cast(case cast(@grouped as text)
    when 'agent' then c.agent_id
    when 'role' then a.role
    when 'model' then c.model
    when 'turn' then c.agent_id || '#' || c.turn
    else c.conversation_id
  end as text) as name,
  count(*) as calls,
  cast(sum(c.input) as integer) as input, cast(sum(c.output) as integer) as output,
  cast(sum(c.cache_read) as integer) as cache_read, cast(sum(c.cache_write) as integer) as cache_write,
  cast(sum(c.reasoning) as integer) as reasoning, cast(sum(c.cost) as integer) as cost,
  cast(sum(c.unpriced) as integer) as unpriced
from model_calls c
join agents a on a.tenant_id = c.tenant_id and a.conversation_id = c.conversation_id
  and a.agent_id = c.agent_id
where c.tenant_id = @tenant and (cast(@conversation as text) = '' or c.conversation_id = @conversation)
  and c.started_at >= @since and c.started_at < @until
group by 1
order by min(c.started_at), 1;

-- name: ArchivedConversations :many
select * from conversations
where tenant_id = @tenant and archived
  and (updated_at < @before or (updated_at = @before and conversation_id < @before_id))
order by updated_at desc, conversation_id desc
limit @count;
