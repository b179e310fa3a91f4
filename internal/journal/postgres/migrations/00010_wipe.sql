-- What is left of the conversations of a deleted tenant goes with it.

-- +goose Up
grant delete on tombstones to retinue_app;

-- +goose Down
revoke delete on tombstones from retinue_app;
