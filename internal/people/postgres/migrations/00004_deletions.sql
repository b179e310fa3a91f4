-- Tenants that are being deleted. Such a tenant begins nothing new, whoever is under way. Its row goes with the tenant.

-- +goose Up

create table people.deletions (
  tenant_id text collate "C" not null references people.tenants on delete cascade,
  asked_by  text        not null,
  source    text        not null,
  asked_at  timestamptz not null,
  primary key (tenant_id)
);
alter table people.deletions enable row level security;
alter table people.deletions force row level security;
create policy tenant on people.deletions using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
-- A transaction of nobody in particular may see which tenants there is work for, and change nothing.
create policy sweep on people.deletions for select using ((select app_tenant()) = '*');
grant select, insert, delete on people.deletions to retinue_app;

-- Who holds a session or a key also learns that the tenant is being deleted.
drop function people.session(text, bytea, timestamptz, interval);
-- +goose StatementBegin
create function people.session(whose text, token bytea, moment timestamptz, idle interval)
  returns table (person text, email text, role text, until timestamptz, deleting boolean)
  language plpgsql
as $$
#variable_conflict use_column
begin
  perform set_config('app.tenant', whose, true), set_config('app.began', extract(epoch from now())::text, true);
  update people.sessions s set used_at = moment
  where s.tenant_id = whose and s.hash = token and s.ends_at > moment
    and s.used_at > moment - idle and s.used_at < moment - interval '1 minute';
  return query
    select m.person_id, m.email, m.role, s.ends_at, exists (select from people.deletions d where d.tenant_id = whose)
    from people.sessions s join people.members m on (m.tenant_id, m.person_id) = (s.tenant_id, s.person_id)
    where s.tenant_id = whose and s.hash = token and s.ends_at > moment and s.used_at > moment - idle;
end
$$;
-- +goose StatementEnd

drop function people.key(text, bytea, timestamptz);
-- +goose StatementBegin
create function people.key(whose text, token bytea, moment timestamptz)
  returns table (person text, email text, role text, id text, scopes text[], until timestamptz, deleting boolean)
  language plpgsql
as $$
#variable_conflict use_column
begin
  perform set_config('app.tenant', whose, true), set_config('app.began', extract(epoch from now())::text, true);
  update people.keys k set used_at = moment
  where k.tenant_id = whose and k.hash = token and k.ends_at > moment and k.revoked_at is null
    and (k.used_at is null or k.used_at < moment - interval '1 minute');
  return query
    select m.person_id, m.email, m.role, k.key_id, k.scopes, k.ends_at, exists (select from people.deletions d where d.tenant_id = whose)
    from people.keys k join people.members m on (m.tenant_id, m.person_id) = (k.tenant_id, k.person_id)
    where k.tenant_id = whose and k.hash = token and k.ends_at > moment and k.revoked_at is null;
end
$$;
-- +goose StatementEnd

-- No conversation begins in such a tenant, nor is a text kept for one that is not there, by whatever way.
-- +goose StatementBegin
create function people.refuse_deleted() returns trigger
  language plpgsql
as $$
begin
  if exists (select from people.deletions d where d.tenant_id = new.tenant_id) and not exists (
    select from conversations c where c.tenant_id = new.tenant_id and c.conversation_id = new.conversation_id
  ) then
    raise exception 'the tenant is being deleted' using errcode = 'RT003';
  end if;
  return new;
end
$$;
-- +goose StatementEnd

create trigger conversations_of_deleted before insert on conversations for each row execute function people.refuse_deleted();
create trigger texts_of_deleted before insert on texts for each row execute function people.refuse_deleted();
