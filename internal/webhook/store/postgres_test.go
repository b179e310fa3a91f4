//go:build services

package store

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/webhook"
)

// openServer is a store on a server.
var openServer = func(t *testing.T) *Store {
	t.Helper()
	return connect(t, server(t))
}

// server makes a database with the tables.
func server(t *testing.T) string {
	t.Helper()
	d := postgrestest.New(t)
	if err := postgres.Migrate(t.Context(), d.DSN); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(t.Context(), d.DSN); err != nil {
		t.Fatal(err)
	}
	return d.DSN
}

func connect(t *testing.T, dsn string) *Store {
	t.Helper()
	s, err := OpenPostgres(t.Context(), dsn, postgres.Role, keysOf(t, testKey))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestNodesShareTheWork has three nodes and two tenants; without faults no delivery comes twice.
func TestNodesShareTheWork(t *testing.T) {
	dsn := server(t)
	log, c, r := journaltest.NewMemory(), &clock{}, newReceiver(t, nil)
	var hooks []webhook.Hook
	for _, tenant := range []string{"acme", "zeta"} {
		hooks = append(hooks, hookTo(t, connect(t, dsn), tenant, r, time.Now().Add(-time.Minute)))
	}
	first := connect(t, dsn)
	for _, s := range []*Store{first, connect(t, dsn), connect(t, dsn)} {
		node(t, s, s, log, c, patience)
	}
	for i := range 20 {
		for _, h := range hooks {
			talk(t, log, h.Tenant, fmt.Sprintf("%s%d", h.Tenant, i), 10)
		}
	}
	for _, h := range hooks {
		until(t, "all is delivered", c, 0, func() bool { return statuses(t, first, h)[webhook.Delivered] == 200 })
	}
	if events, requests := r.counts(); events != 400 || requests != 400 {
		t.Errorf("%d events in %d requests, want 400 in 400", events, requests)
	}
}

// TestTenantsOfWebhooks asks the catalogue, and then for rows of another.
func TestTenantsOfWebhooks(t *testing.T) {
	s := connect(t, server(t))
	log, r := journaltest.NewMemory(), newReceiver(t, nil)
	h := hookTo(t, s, "acme", r, time.Now().Add(-time.Minute))
	talk(t, log, "acme", "c1", 3)
	feeder := webhook.NewFeeder(webhook.FeederOptions{Places: s, Book: s, Log: log, Events: wire, Now: time.Now, Logger: quiet})
	if err := feeder.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := func(tenant, table string) (n int) {
		t.Helper()
		err := s.db.In(t.Context(), tenant, func(tx *sql.Tx) error {
			return tx.QueryRowContext(t.Context(), "select count(*) from "+table).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for table, want := range map[string][3]int{
		"webhook_tenants": {1, 0, 1}, "webhooks": {1, 0, 0}, "webhook_keys": {1, 0, 0}, "webhook_cursors": {1, 0, 0}, "webhook_deliveries": {3, 0, 0},
	} {
		got := [3]int{count("acme", table), count("zeta", table), count("*", table)}
		if got != want {
			t.Errorf("%s: acme, zeta and the sweeper see %v, want %v", table, got, want)
		}
		if n := count("acme", "pg_class where relname = '"+table+"' and relrowsecurity and relforcerowsecurity"); n != 1 {
			t.Errorf("%s: row level security is not forced", table)
		}
	}
	err := s.db.In(t.Context(), "*", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "update webhook_tenants set swept_ms = 0")
		return err
	})
	if tenants, listed := s.Tenants(t.Context()); err != nil || listed != nil || tenants[0].Swept.IsZero() {
		t.Errorf("the sweeper changes what it sees: %v, %v", tenants, err)
	}
	if list, err := s.Claim(t.Context(), webhook.Hook{Tenant: "zeta", ID: h.ID}, time.Now(), time.Now(), 10); len(list) != 0 || err != nil {
		t.Errorf("another tenant takes %d deliveries, %v", len(list), err)
	}
}
