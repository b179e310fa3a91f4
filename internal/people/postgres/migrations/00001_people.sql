-- People. Every table that has a tenant_id shows a transaction only the rows of its tenant, as the
-- journal's do, and by the same function. What a person must see across tenants, they see by naming
-- what only they know or are: their id, their address, the state of their login.

-- +goose Up

create schema people;
grant usage on schema people to retinue_app;

-- What a transaction has named. Like the tenant it ends with the transaction.
-- +goose StatementBegin
create function people.shown() returns text
  language sql stable
as $$
  select case
    when current_setting('app.began', true) = extract(epoch from now())::text
    then current_setting('app.shown', true)
  end
$$;
-- +goose StatementEnd

create table people.tenants (
  tenant_id  text collate "C" not null check (tenant_id not in ('', '*')),
  name       text        not null,
  personal   boolean     not null,
  made_by    text collate "C" not null,
  made_at    timestamptz not null,
  -- second_pair means that a person who has said something in a conversation cannot allow a call there.
  second_pair boolean    not null default false,
  -- retention_days is after how many days a conversation that nobody touches is deleted; zero keeps it.
  retention_days integer not null default 0 check (retention_days >= 0),
  primary key (tenant_id)
);

create table people.members (
  tenant_id text collate "C" not null references people.tenants on delete cascade,
  member_id text collate "C" not null,
  -- Null until somebody with this address has logged in.
  person_id text collate "C",
  issuer    text        not null default '',
  subject   text        not null default '',
  email     text collate "C" not null check (email = lower(email)),
  name      text        not null default '',
  role      text        not null check (role in ('viewer', 'member', 'owner')),
  added_by  text        not null,
  added_at  timestamptz not null,
  joined_at timestamptz,
  primary key (tenant_id, member_id),
  unique (tenant_id, person_id)
);
create unique index members_invited on people.members (tenant_id, email) where person_id is null;
-- The two that do not begin with the tenant: a login looks for where somebody belongs.
create index members_of_person on people.members (person_id) where person_id is not null;
create index members_of_email on people.members (email) where person_id is null;

create table people.sessions (
  tenant_id text collate "C" not null,
  hash      bytea       not null,
  person_id text collate "C" not null,
  began_at  timestamptz not null,
  used_at   timestamptz not null,
  ends_at   timestamptz not null,
  primary key (tenant_id, hash),
  foreign key (tenant_id, person_id) references people.members (tenant_id, person_id) on delete cascade
);

create table people.keys (
  tenant_id  text collate "C" not null,
  key_id     text collate "C" not null,
  hash       bytea       not null,
  person_id  text collate "C" not null,
  name       text        not null,
  scopes     text[]      not null check (scopes <@ array['read', 'write', 'admin'] and cardinality(scopes) > 0),
  made_at    timestamptz not null,
  ends_at    timestamptz not null,
  used_at    timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, key_id),
  unique (tenant_id, hash),
  foreign key (tenant_id, person_id) references people.members (tenant_id, person_id) on delete cascade
);

-- Logins under way. They belong to nobody yet; who knows the state sees one.
create table people.logins (
  state    bytea       not null primary key,
  nonce    text        not null,
  verifier text        not null,
  next     text        not null,
  ends_at  timestamptz not null
);

-- Workspaces belong to tenants: a conversation can name only those of its own.
create table people.workspaces (
  tenant_id text collate "C" not null references people.tenants on delete cascade,
  name      text collate "C" not null check (name <> ''),
  -- When a worker that has it was started last.
  served_at timestamptz not null,
  primary key (tenant_id, name)
);

-- Tenants that are being deleted. Nothing new begins in such a tenant. Its row goes with the tenant.
create table people.deletions (
  tenant_id text collate "C" not null references people.tenants on delete cascade,
  asked_by  text        not null,
  source    text        not null,
  asked_at  timestamptz not null,
  primary key (tenant_id)
);

-- One row, with how often somebody may have lost what they had.
create table people.changes (
  one boolean not null primary key default true check (one),
  n   bigint  not null
);
insert into people.changes (n) values (0);

-- +goose StatementBegin
do $$
declare
  t text;
begin
  foreach t in array array['tenants', 'members', 'sessions', 'keys', 'workspaces'] loop
    execute format('alter table people.%I enable row level security', t);
    execute format('alter table people.%I force row level security', t);
    execute format(
      'create policy tenant on people.%I using (tenant_id = (select app_tenant()))'
      ' with check (tenant_id = (select app_tenant()))', t);
    execute format('grant select, insert, update, delete on people.%I to retinue_app', t);
  end loop;
end
$$;
-- +goose StatementEnd

alter table people.deletions enable row level security;
alter table people.deletions force row level security;
create policy tenant on people.deletions using (tenant_id = (select app_tenant()))
  with check (tenant_id = (select app_tenant()));
grant select, insert, delete on people.deletions to retinue_app;
-- A transaction of nobody in particular may see which tenants there is work for, and change nothing.
create policy sweep on people.deletions for select using ((select app_tenant()) = '*');

create policy self on people.members for select using (person_id = substring((select people.shown()) from '^person:(.*)$'));
create policy invited on people.members for select
  using (person_id is null and email = substring((select people.shown()) from '^email:(.*)$'));

alter table people.logins enable row level security;
alter table people.logins force row level security;
create policy state on people.logins
  using (encode(state, 'hex') = substring((select people.shown()) from '^login:(.*)$'))
  with check (encode(state, 'hex') = substring((select people.shown()) from '^login:(.*)$'));
create policy gone on people.logins for select using (ends_at < now());
create policy sweep on people.logins for delete using (ends_at < now());
grant select, insert, delete on people.logins to retinue_app;

alter table people.changes enable row level security;
alter table people.changes force row level security;
create policy everybody on people.changes using (true);
grant select on people.changes to retinue_app;
grant update (n) on people.changes to retinue_app;

-- Who holds a session, and whether the tenant is being deleted: one round trip, with the rights of the caller. Its use is noted once
-- a minute.
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

-- The same for a key.
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

-- No conversation begins in a tenant that is being deleted, nor is a text kept for a conversation that is not there.
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

-- +goose Down
drop trigger texts_of_deleted on texts;
drop trigger conversations_of_deleted on conversations;
drop schema people cascade;
