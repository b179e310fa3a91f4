-- Kept texts belong to a conversation and go with it.

-- +goose Up
create table texts (
  tenant_id       text not null check (tenant_id not in ('', '*')),
  conversation_id text not null check (conversation_id <> ''),
  hash            text not null,
  text            text not null,
  primary key (tenant_id, conversation_id, hash)
) strict;
insert into texts (tenant_id, conversation_id, hash, text)
select distinct e.tenant_id, e.conversation_id, p.hash, p.text
from entries e, json_tree(e.body) said
join prompts p on p.tenant_id = e.tenant_id and p.hash = said.atom
where said.type = 'text' and length(said.atom) = 64;
drop table prompts;

-- +goose Down
create table prompts (
  tenant_id text not null check (tenant_id not in ('', '*')),
  hash      text not null,
  text      text not null,
  primary key (tenant_id, hash)
) strict;
insert into prompts select distinct tenant_id, hash, text from texts;
drop table texts;
