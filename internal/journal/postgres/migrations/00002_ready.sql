-- Whoever serves looks whether the tables are those it was made for.

-- +goose Up
grant select on goose_db_version to retinue_app;

-- +goose Down
revoke select on goose_db_version from retinue_app;
