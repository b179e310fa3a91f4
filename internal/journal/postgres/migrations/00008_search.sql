-- A search finds its words by an index, behind row level security too.

-- +goose Up
-- The words of a message as the index has them. Each begins with its tenant, so that what a search reads does not grow
-- with the words of others, and the time that it takes says nothing about them.
-- +goose StatementBegin
create function tenant_words(tenant text, words text[]) returns text[]
  language sql immutable strict parallel safe
as $$
  select array(select left(md5(tenant), 12) || word from unnest(words) as word)
$$;
-- +goose StatementEnd

create index messages_words on messages using gin (tenant_words(tenant_id, tsvector_to_array(words)))
  where words is not null;

-- The keys of the newest messages of the transaction's tenant with all of these words, some of them twice. Row level
-- security keeps an index on words from being used, because comparing words might tell what it hides. Therefore this
-- function reads messages as their owner. It keeps to the tenant and the viewer itself, and tells keys alone: the messages
-- are read with the rights of who asks.
-- +goose StatementBegin
create function search_messages(wanted text[], conversation text, sub_agents boolean, most int)
  returns table (conversation_id text, seq bigint)
  language plpgsql stable security definer
  set search_path = public, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  tenant text := app_tenant();
  hidden text[] := app_hidden();
  terms  text[] := tenant_words(tenant, wanted);
  found  bigint;
begin
  -- A word that occurs often is among the newest messages. The index would find all of them, and not in order.
  return query
    select m.conversation_id, m.seq from (
      select * from messages
      where tenant_id = tenant and words is not null
      order by at desc, conversation_id, seq
      limit 1000
    ) m
    where tsvector_to_array(words) @> wanted and not voided and m.conversation_id <> all (hidden)
      and (conversation = '' or m.conversation_id = conversation) and (sub_agents or in_chat)
    order by at desc, m.conversation_id, m.seq desc
    limit most;
  get diagnostics found = row_count;
  if found >= most then
    return;
  end if;
  return query
    with m as materialized (
      select * from messages
      where words is not null and tenant_words(tenant_id, tsvector_to_array(words)) @> terms
    )
    select m.conversation_id, m.seq from m
    where tenant_id = tenant and not voided and m.conversation_id <> all (hidden)
      and (conversation = '' or m.conversation_id = conversation) and (sub_agents or in_chat)
    order by at desc, m.conversation_id, m.seq desc
    limit most;
end
$$;
-- +goose StatementEnd
revoke execute on function search_messages(text[], text, boolean, int) from public;
grant execute on function search_messages(text[], text, boolean, int) to retinue_app;
alter table messages no force row level security;

-- +goose Down
alter table messages force row level security;
drop function search_messages(text[], text, boolean, int);
drop index messages_words;
drop function tenant_words(text, text[]);
