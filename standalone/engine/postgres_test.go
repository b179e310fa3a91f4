//go:build services

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func TestAKilledEngineOnPostgresLosesNothing(t *testing.T) {
	survive(t, Options{Postgres: databases(t)})
}

func TestPostgresSchemaIsMadeOnceAndUpgraded(t *testing.T) {
	o := Options{Postgres: databases(t)}
	openAndRelease(t, o)
	made := columns(t, o.Postgres)
	if len(made) < 100 {
		t.Fatalf("only %v", made)
	}
	openAndRelease(t, o)
	if diff := cmp.Diff(made, columns(t, o.Postgres)); diff != "" {
		t.Errorf("the second time changed it:\n%s", diff)
	}

	// A start that was cut off in the midst of the last change.
	execute(t, o.Postgres, "DROP TABLE current_chasm_executions")
	execute(t, o.Postgres, "UPDATE schema_version SET curr_version = '1.18'")
	openAndRelease(t, o)
	if diff := cmp.Diff(made, columns(t, o.Postgres)); diff != "" {
		t.Errorf("the upgrade differs from a new database:\n%s", diff)
	}
}

func TestADatabaseIsTakenByOneEngine(t *testing.T) {
	o := Options{Postgres: databases(t)}
	first, err := openStore(t.Context(), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), knownTo(t, o)); !errors.Is(err, errTaken) {
		t.Errorf("got %v, want a refusal", err)
	}
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	openAndRelease(t, o)
}

func openAndRelease(t *testing.T, o Options) {
	t.Helper()
	s, err := openStore(t.Context(), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
}

// databases names two that do not exist yet, and drops them in the end.
func databases(t *testing.T) string {
	t.Helper()
	server := os.Getenv("TEST_RETINUE_POSTGRES")
	if server == "" {
		server = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	name := "retinue_engine_" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		for _, database := range []string{name, name + visibilitySuffix} {
			execute(t, server, "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)")
		}
	})
	u.Path = "/" + name
	return u.String()
}

func execute(t *testing.T, dsn, statement string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn := connected(t, ctx, dsn)
	_, err := conn.Exec(ctx, statement)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

func columns(t *testing.T, dsn string) []string {
	t.Helper()
	conn := connected(t, t.Context(), dsn)
	rows, err := conn.Query(t.Context(), `SELECT table_name||'.'||column_name FROM information_schema.columns
		WHERE table_schema = 'public' UNION SELECT curr_version FROM schema_version ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return names
}

func connected(t *testing.T, ctx context.Context, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatalf("no Postgres to test with: %v\nstart one, or name one in TEST_RETINUE_POSTGRES", err)
	}
	return conn
}
