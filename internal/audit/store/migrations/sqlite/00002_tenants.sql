-- Who verifies all trails has to know whose there are: the first entry of each chain says that there is one.

-- +goose Up
create index audit_first on audit_rows (tenant_id) where seq = 1;

-- +goose Down
drop index audit_first;
