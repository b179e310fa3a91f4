package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/webhook"
)

// testKey is one that the processes of a test share.
const testKey = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="

func keysOf(t *testing.T, current string, former ...string) *seal.Keys {
	t.Helper()
	k, err := seal.NewKeys(current, former...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// kept is what the tables hold of a tenant's secrets and of its key.
func kept(t *testing.T, s *Store, tenant string) (secrets []string, key string) {
	t.Helper()
	err := s.db.In(t.Context(), tenant, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(t.Context(), `select secret from webhooks where tenant_id = $1 order by webhook_id`, tenant)
		secrets, err = collect(rows, err, func(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) })
		if err != nil {
			return err
		}
		key, err = wrappedKey(t.Context(), tx, tenant)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return secrets, key
}

func add(t *testing.T, s *Store, tenant, id string) webhook.Hook {
	t.Helper()
	h, err := s.Add(t.Context(), webhook.Hook{
		Tenant: tenant, ID: id, URL: "https://example.com", Secret: webhook.NewSecret(), Types: []string{}, By: "ann", At: time.UnixMilli(5),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// reads compares a store's hooks of a tenant with the added ones.
func reads(t *testing.T, s *Store, want ...webhook.Hook) {
	t.Helper()
	got, err := s.Receivers(t.Context(), want[0].Tenant)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// other is the same store as a server with other keys sees it.
func other(s *Store, keys *seal.Keys) *Store { return &Store{db: s.db, keys: keys} }

// TestSecretsAreSealed looks for secrets in the tables, and puts one where it does not belong.
func TestSecretsAreSealed(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		first, second, third := add(t, s, "acme", "w1"), add(t, s, "acme", "w2"), add(t, s, "zeta", "w1")
		reads(t, s, first, second)
		reads(t, s, third)
		for _, tenant := range []string{"acme", "zeta"} {
			secrets, key := kept(t, s, tenant)
			for _, text := range secrets {
				if strings.Contains(text, "whsec_") || key == "" {
					t.Errorf("%s keeps %s under %q", tenant, text, key)
				}
			}
		}
		if _, err := other(s, keysOf(t, seal.NewKey())).Receivers(t.Context(), "acme"); !errors.Is(err, seal.ErrOther) {
			t.Errorf("another key reads them: %v", err)
		}
		secrets, _ := kept(t, s, "acme")
		put(t, s, "acme", "w2", secrets[0])
		if _, err := s.Receivers(t.Context(), "acme"); !errors.Is(err, seal.ErrOther) {
			t.Errorf("the secret of one webhook serves another: %v", err)
		}
	})
}

// put writes the stored form of a secret.
func put(t *testing.T, s *Store, tenant, hook, text string) {
	t.Helper()
	err := s.db.In(t.Context(), tenant, func(tx *sql.Tx) error {
		return changed(tx.ExecContext(t.Context(), `update webhooks set secret = $3 where tenant_id = $1 and webhook_id = $2`, tenant, hook, text))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsSealedWithoutAKey has a server without a key read webhooks, and add one.
func TestNothingIsSealedWithoutAKey(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		h := add(t, s, "acme", "w1")
		without := other(s, nil)
		if _, err := without.Receivers(t.Context(), "acme"); chat.CodeOf(err) != chat.CodeConflict {
			t.Errorf("sealed secrets without a key: %v", err)
		}
		_, err := without.Add(t.Context(), webhook.Hook{Tenant: "new", ID: "w", Secret: webhook.NewSecret()})
		if secrets, _ := kept(t, s, "new"); chat.CodeOf(err) != chat.CodeConflict || len(secrets) > 0 {
			t.Errorf("a webhook is added without a key: %v, %d", err, len(secrets))
		}
		put(t, s, "acme", "w1", h.Secret)
		if _, err := s.Receivers(t.Context(), "acme"); err == nil {
			t.Error("a secret that is kept in the open is read")
		}
	})
}

// TestTheKeyOfTheInstallationChanges wraps keys anew, and leaves their sealed secrets as they are.
func TestTheKeyOfTheInstallationChanges(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		h := add(t, s, "acme", "w1")
		before, wrapped := kept(t, s, "acme")
		next := seal.NewKey()
		reads(t, other(s, keysOf(t, next, testKey)), h)
		after, anew := kept(t, s, "acme")
		if diff := cmp.Diff(before, after); diff != "" || anew == wrapped {
			t.Errorf("the key is kept as before: %t; what it seals:\n%s", anew == wrapped, diff)
		}
		reads(t, other(s, keysOf(t, next)), h)
		if _, err := s.Receivers(t.Context(), "acme"); !errors.Is(err, seal.ErrOther) {
			t.Errorf("the former key still opens them: %v", err)
		}
	})
}

// TestKeysAreShredded removes webhooks, and begins again.
func TestKeysAreShredded(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		first, second := add(t, s, "acme", "w1"), add(t, s, "acme", "w2")
		remove := func(h webhook.Hook) string {
			t.Helper()
			if err := s.Remove(context.WithoutCancel(t.Context()), "acme", h.ID); err != nil {
				t.Fatal(err)
			}
			_, key := kept(t, s, "acme")
			return key
		}
		if remove(first) == "" {
			t.Error("the key of a webhook that is there is gone")
		}
		if key := remove(second); key != "" {
			t.Errorf("the key is still there: %s", key)
		}
		reads(t, s, add(t, s, "acme", "w3"))
	})
}

// TestALostKeyCanBeGivenUp has a server begin with another key: it says so, and an owner sees the
// webhooks, removes them and adds them again.
func TestALostKeyCanBeGivenUp(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		h := add(t, s, "acme", "w1")
		lost := other(s, keysOf(t, seal.NewKey()))
		complains := func(what string, err error) {
			t.Helper()
			told, _ := errors.AsType[*chat.Error](err)
			if chat.CodeOf(err) != chat.CodeConflict || !strings.Contains(told.Message, "sealing.key is not the key") {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := lost.Receivers(t.Context(), "acme")
		complains("to send", err)
		_, err = lost.Add(t.Context(), h)
		complains("to add it again", err)
		_, err = lost.Add(t.Context(), webhook.Hook{Tenant: "acme", ID: "w2", Secret: webhook.NewSecret()})
		complains("to add another", err)
		count, err := lost.Sealed(t.Context())
		complains("to look", err)
		if good, err := s.Sealed(t.Context()); good != 1 || count != 1 || err != nil {
			t.Errorf("there is one, and %d and %d are counted: %v", good, count, err)
		}
		listed := h
		listed.Secret = ""
		got, err := lost.Hooks(t.Context(), "acme")
		if diff := cmp.Diff([]webhook.Hook{listed}, got); diff != "" || err != nil {
			t.Errorf("%v; the list:\n%s", err, diff)
		}
		if err := lost.Remove(t.Context(), "acme", h.ID); err != nil {
			t.Fatal(err)
		}
		reads(t, lost, add(t, lost, "acme", "w3"))
	})
}
