//go:build services

package store

import (
	"context"
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
	d, err := postgrestest.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
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
	s, err := OpenPostgres(t.Context(), dsn, postgres.Role)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestNodesShareTheWork has three nodes and two tenants; where nothing goes wrong nothing comes twice.
func TestNodesShareTheWork(t *testing.T) {
	dsn := server(t)
	log, c, r := journaltest.NewMemory(), &clock{}, newReceiver(t, nil)
	var hooks []webhook.Hook
	for _, tenant := range []string{"acme", "zeta"} {
		hooks = append(hooks, hookTo(t, connect(t, dsn), tenant, r, time.Now().Add(-time.Minute)))
	}
	first := connect(t, dsn)
	for _, s := range []*Store{first, connect(t, dsn), connect(t, dsn)} {
		node(t, s, s, log, c)
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
