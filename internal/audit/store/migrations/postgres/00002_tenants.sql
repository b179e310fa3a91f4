-- Who verifies all trails has to know whose there are. A transaction of everybody sees the first entry of
-- each chain, which says that there is one.

-- +goose Up
create index audit_first on audit_rows (tenant_id) where seq = 1;

create policy first on audit_rows for select using (seq = 1 and (select app_tenant()) = '*');

-- +goose Down
drop policy first on audit_rows;
drop index audit_first;
