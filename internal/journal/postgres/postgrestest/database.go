// Package postgrestest makes databases for tests that are not the adapter's own, and drops them. It
// is test support and imports nothing of ours.
package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Database is an empty database that belongs to one test run.
type Database struct {
	// DSN is how its owner reaches it.
	DSN    string
	admin  string
	name   string
	beside []string
}

// Server is the Postgres that tests use: TEST_RETINUE_POSTGRES, or the usual one on this machine.
func Server() string {
	if dsn := os.Getenv("TEST_RETINUE_POSTGRES"); dsn != "" {
		return dsn
	}
	return "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"
}

// New makes a database, which goes when the test ends. Beside are endings of further ones that
// somebody else will make and that go with it.
func New(t testing.TB, beside ...string) Database {
	t.Helper()
	d := Database{admin: Server(), name: "retinue_e2e_" + strings.ToLower(rand.Text()), beside: beside}
	u, err := url.Parse(d.admin)
	if err != nil {
		t.Fatalf("read TEST_RETINUE_POSTGRES: %v", err)
	}
	u.Path = "/" + d.name
	d.DSN = u.String()
	if err := d.run(t.Context(), "create database "+d.name); err != nil {
		t.Fatalf("no Postgres to test with; start one, or name one in TEST_RETINUE_POSTGRES: %v", err)
	}
	t.Cleanup(func() {
		if err := d.drop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("a database is left behind: %v", err)
		}
	})
	return d
}

// As is the DSN for connections that take on a role.
func (d Database) As(role string) string {
	u, err := url.Parse(d.DSN)
	if err != nil {
		return d.DSN
	}
	u.RawQuery += "&options=-c%20role%3D" + role
	return u.String()
}

// drop removes the database and those beside it, also while programs are connected.
func (d Database) drop(ctx context.Context) error {
	err := d.run(ctx, "drop database if exists "+d.name+" with (force)")
	for _, ending := range d.beside {
		err = errors.Join(err, d.run(ctx, "drop database if exists "+d.name+ending+" with (force)"))
	}
	return err
}

func (d Database) run(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, d.admin)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}
