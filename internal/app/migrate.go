package app

import (
	"context"
	"fmt"

	auditstore "github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	peoplestore "github.com/retinue-dev/retinue/internal/people/postgres"
	webhookstore "github.com/retinue-dev/retinue/internal/webhook/store"
)

// Migrate brings the database of the journal and of people up to date. With SQLite there is nothing
// to do: a file is brought up to date when it is opened.
func Migrate(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) error {
	if s.Journal.DSN.IsZero() {
		return &chat.Error{
			Code:    chat.CodeInvalid,
			Message: "journal.dsn is not set: a SQLite journal is brought up to date when it is opened",
		}
	}
	dsn, err := s.Journal.DSN.Reveal(lookup)
	if err != nil {
		return fmt.Errorf("journal.dsn: %w", err)
	}
	return MigrateDatabase(ctx, dsn)
}

// MigrateDatabase makes all tables in a PostgreSQL database, or brings them up to date: the
// journal's first, then those beside it.
func MigrateDatabase(ctx context.Context, dsn string) error {
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	if err := auditstore.Migrate(ctx, dsn); err != nil {
		return err
	}
	if err := webhookstore.Migrate(ctx, dsn); err != nil {
		return err
	}
	return peoplestore.Migrate(ctx, dsn)
}
