package engine

import (
	"context"
	"errors"

	"go.temporal.io/server/common/config"
)

// store is where the server keeps its records, taken for this process alone.
type store struct {
	name       string
	executions *config.SQL
	visibility *config.SQL
	release    func() error
	// shared means that several people's work waits in it, as in a database of an installation.
	shared bool
}

// errTaken is the failure that goes away when another engine ends.
var errTaken = errors.New("another engine runs on it: stop that one, or name another store")

func openStore(ctx context.Context, o Options, log serverLog) (store, error) {
	if o.SQLite != "" {
		return openSQLite(ctx, o.SQLite, log)
	}
	return openPostgres(ctx, o.Postgres, log)
}
