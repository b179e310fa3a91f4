//go:build services

package store

import (
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the owner's connection

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/database"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
)

// prepared makes a database with the tables and returns a store on it, as the program's role, and a
// connection of the owner, whom no policy binds.
func prepared(t *testing.T) (postgrestest.Database, *Store, *sql.DB) {
	t.Helper()
	d := postgrestest.New(t)
	for range 2 { // twice does no harm
		if err := postgres.Migrate(t.Context(), d.DSN); err != nil {
			t.Fatal(err)
		}
		if err := Migrate(t.Context(), d.DSN); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenPostgres(t.Context(), d.DSN, postgres.Role)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := sql.Open("pgx", d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = owner.Close()
	})
	return d, s, owner
}

func TestMutationsOfADatabase(t *testing.T) {
	_, s, owner := prepared(t)
	heads := fill(t, s, 60)
	mutate(t, owner, heads, "set local session_replication_role = replica")
}

func TestOnlyAdding(t *testing.T) {
	_, s, owner := prepared(t)
	fill(t, s, 5)
	for _, statement := range []string{
		"update audit_rows set actor = 'eve'", "delete from audit_rows", "truncate audit_rows", "drop table audit_rows",
		"alter table audit_rows disable trigger all", "set local session_replication_role = replica",
	} {
		err := s.db.In(t.Context(), "acme", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		})
		if err == nil {
			t.Errorf("the program's role may: %s", statement)
		}
	}
	for _, statement := range []string{"update audit_rows set actor = 'eve'", "delete from audit_rows", "truncate audit_rows"} {
		if _, err := owner.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("the owner may, by mistake: %s", statement)
		}
	}
	var seen int
	err := s.db.In(t.Context(), "zeta", func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "select count(*) from audit_rows where tenant_id <> 'zeta'").Scan(&seen)
	})
	if err != nil || seen != 0 {
		t.Errorf("a tenant sees %d entries of others, %v", seen, err)
	}
	err = s.db.In(t.Context(), "zeta", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "insert into audit_rows (tenant_id, "+columns+
			") values ('acme', 6, 0, '', '', '', '', '', '', '', '', '', '', '')")
		return err
	})
	if err == nil {
		t.Error("a tenant writes into another's trail")
	}
}

// TestWhoHasATrail shows that every caller can list the tenants with a trail, and can read nothing
// else of it.
func TestWhoHasATrail(t *testing.T) {
	_, s, _ := prepared(t)
	for _, tenant := range []string{"zeta", "acme"} {
		for range 3 {
			if err := s.Add(t.Context(), tenant, time.Now(), []audit.Record{{Action: audit.ActionPost}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := s.Tenants(t.Context()); err != nil || !slices.Equal(got, []string{"acme", "zeta"}) {
		t.Errorf("%q, %v", got, err)
	}
	var seen int
	err := s.db.In(t.Context(), database.Everybody, func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "select count(*) from audit_rows").Scan(&seen)
	})
	if err != nil || seen != 2 {
		t.Errorf("everybody sees %d entries, %v", seen, err)
	}
}

// TestTrailsOfNodes lets several nodes write to one chain at once.
func TestTrailsOfNodes(t *testing.T) {
	d, first, _ := prepared(t)
	second, err := OpenPostgres(t.Context(), d.DSN, postgres.Role)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close() //nolint:errcheck // the test is over
	const each = 200
	var group sync.WaitGroup
	began := time.Now()
	for n, s := range []*Store{first, second} {
		trail := audit.NewTrail(s, time.Now)
		for i := range each {
			group.Go(func() {
				r := audit.Record{Action: audit.ActionPost, Object: fmt.Sprintf("%d-%d", n, i), Key: fmt.Sprint(i)}
				if err := trail.Write(t.Context(), "acme", r); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	t.Logf("%d records of two nodes in %s", 2*each, time.Since(began))
	alone(t, audit.NewTrail(first, time.Now), "zeta")
	head, err := audit.Verify(t.Context(), first, "acme", nil, nil)
	if err != nil || head.Seq != each {
		t.Errorf("%d entries, want %d: %v", head.Seq, each, err)
	}
}
