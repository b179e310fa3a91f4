//go:build services

package app

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/doctor"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/webhook"
	webhookstore "github.com/retinue-dev/retinue/internal/webhook/store"
)

// TestDoctorOpensTheJournal compares what doctor says with what a server would: a database that
// accepts connections is not yet one that can be used, nor are webhooks whose key is another.
func TestDoctorOpensTheJournal(t *testing.T) {
	db := postgrestest.New(t)
	look := func(dsn string) doctor.Finding {
		t.Helper()
		for _, f := range Doctor(t.Context(), inputs(t, "journal: {dsn: '"+dsn+"'}\n")) {
			if f.Check == "journal" {
				return f
			}
		}
		t.Fatal("it does not speak of the journal")
		return doctor.Finding{}
	}
	if f := look(db.As(postgres.Role)); f.Level != doctor.Fail {
		t.Errorf("an empty database: %+v", f)
	}
	if err := MigrateDatabase(t.Context(), db.DSN); err != nil {
		t.Fatal(err)
	}
	if f := look(db.As(postgres.Role)); f.Level != doctor.OK {
		t.Errorf("a database that is up to date: %+v", f)
	}
	hooks := func(key string) (found []doctor.Finding) {
		t.Helper()
		text := "journal: {dsn: '" + db.As(postgres.Role) + "'}\n" + key
		for _, f := range Doctor(t.Context(), inputs(t, text)) {
			if f.Check == "webhooks" {
				found = append(found, f)
			}
		}
		return found
	}
	if found := hooks(""); len(found) > 0 {
		t.Errorf("without webhooks: %+v", found)
	}
	t.Setenv("DOCTOR_SEALING", seal.NewKey())
	const named = "sealing: {key: '{env:DOCTOR_SEALING}'}\n"
	keys, err := seal.NewKeys(os.Getenv("DOCTOR_SEALING"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := webhookstore.OpenPostgres(t.Context(), db.DSN, postgres.Role, keys)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Add(t.Context(), webhook.Hook{Tenant: "acme", ID: "w1", URL: "https://example.com", Secret: webhook.NewSecret()})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	if found := hooks(named); len(found) != 1 || found[0].Level != doctor.OK {
		t.Errorf("with their key: %+v", found)
	}
	if found := hooks(""); len(found) != 1 || found[0].Level != doctor.Warn {
		t.Errorf("on a worker, without a key: %+v", found)
	}
	t.Setenv("DOCTOR_SEALING", seal.NewKey())
	if found := hooks(named); len(found) != 1 || found[0].Level != doctor.Fail || !strings.Contains(found[0].Detail, "is not the key") {
		t.Errorf("with another key: %+v", found)
	}
	if f := look(db.DSN); f.Level != doctor.Fail || !strings.Contains(f.Advice, "journal.dsn") {
		t.Errorf("a role that passes by all policies: %+v", f)
	}
}
