//go:build services

package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	journal "github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/internal/people/postgres"
)

// database makes a database of the test's own, migrated twice, and returns its address.
func database(t *testing.T) string {
	t.Helper()
	db := postgrestest.New(t)
	if err := journal.Migrate(t.Context(), db.DSN); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := postgres.Migrate(t.Context(), db.DSN); err != nil {
			t.Fatal(err)
		}
	}
	return db.DSN
}

// open connects as the program does.
func open(t *testing.T, dsn string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Role: journal.Role, Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// query runs a statement and returns its rows as text.
func query(t *testing.T, conn *pgx.Conn, sql string) (out []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func connect(t *testing.T, dsn, role string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if role != "" {
		if _, err := conn.Exec(t.Context(), "set role "+role); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// moment is when things happen in tests.
var moment = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// person is a person as a provider describes them.
func person(name string) people.Person {
	return people.Person{Issuer: "https://id.example", Subject: name, Email: name + "@example.org", Name: strings.ToUpper(name)}
}

// take takes up an invitation and tells nobody.
func take(_ people.Invitation, do func() error) error { return do() }

// arrive logs somebody in.
func arrive(t *testing.T, s *postgres.Store, p people.Person) []people.Tenant {
	t.Helper()
	list, err := s.Arrive(t.Context(), p, moment, take)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
