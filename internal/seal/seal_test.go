package seal_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/seal"
)

func keys(t *testing.T, current string, former ...string) *seal.Keys {
	t.Helper()
	k, err := seal.NewKeys(current, former...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func tenant(t *testing.T, k *seal.Keys, name string) *seal.Tenant {
	t.Helper()
	out, err := k.NewTenant(name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const word = "whsec_open-sesame"

// TestWhatIsSealedOpensAtItsPlaceOnly puts something sealed where it does not belong, and changes
// it.
func TestWhatIsSealedOpensAtItsPlaceOnly(t *testing.T) {
	k := keys(t, seal.NewKey())
	acme := tenant(t, k, "acme")
	sealed := acme.Seal("webhook/w1", 1, word)
	if strings.Contains(sealed, "sesame") || sealed == acme.Seal("webhook/w1", 1, word) {
		t.Errorf("sealed as %s, twice the same or readable", sealed)
	}
	if got, err := acme.Open("webhook/w1", 1, sealed); got != word || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	broken := []byte(sealed)
	broken[len(broken)/2] ^= 1
	for what, open := range map[string]func() (string, error){
		"another name":    func() (string, error) { return acme.Open("webhook/w2", 1, sealed) },
		"another version": func() (string, error) { return acme.Open("webhook/w1", 2, sealed) },
		"another tenant":  func() (string, error) { return tenant(t, k, "zeta").Open("webhook/w1", 1, sealed) },
		"another key":     func() (string, error) { return tenant(t, k, "acme").Open("webhook/w1", 1, sealed) },
		"a changed bit":   func() (string, error) { return acme.Open("webhook/w1", 1, string(broken)) },
		"half of it":      func() (string, error) { return acme.Open("webhook/w1", 1, sealed[:20]) },
		"nothing":         func() (string, error) { return acme.Open("webhook/w1", 1, "") },
		"no base64":       func() (string, error) { return acme.Open("webhook/w1", 1, "?") },
	} {
		if got, err := open(); got != "" || !errors.Is(err, seal.ErrOther) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

// TestKeysOfTenantsAreWrapped opens a wrapped key as its tenant, as another, and with other keys.
func TestKeysOfTenantsAreWrapped(t *testing.T) {
	first, second := seal.NewKey(), seal.NewKey()
	before := keys(t, first)
	acme := tenant(t, before, "acme")
	sealed, wrapped := acme.Seal("w", 1, word), before.Wrap(acme)
	opens := func(k *seal.Keys, wrapped string, wantStale bool) *seal.Tenant {
		t.Helper()
		again, stale, err := k.Unwrap("acme", wrapped)
		if err != nil || stale != wantStale {
			t.Fatalf("stale %t, %v", stale, err)
		}
		if got, err := again.Open("w", 1, sealed); got != word || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		return again
	}
	opens(before, wrapped, false)
	rotated := keys(t, second, first)
	anew := rotated.Wrap(opens(rotated, wrapped, true))
	opens(keys(t, second), anew, false)
	for what, err := range map[string]error{
		"another tenant":    unwrap(before, "zeta", wrapped),
		"another key":       unwrap(keys(t, second), "acme", wrapped),
		"the key before":    unwrap(before, "acme", anew),
		"the id of another": unwrap(keys(t, second), "acme", anew[:9]+wrapped[9:]),
		"nothing":           unwrap(before, "acme", ""),
	} {
		if !errors.Is(err, seal.ErrOther) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func unwrap(k *seal.Keys, tenant, wrapped string) error {
	_, _, err := k.Unwrap(tenant, wrapped)
	return err
}

func TestKeysThatAreNone(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("a", 32), seal.NewKey() + "AAAA"} {
		if _, err := seal.NewKeys(text); err == nil || (text != "" && strings.Contains(err.Error(), text)) {
			t.Errorf("%q was taken, or is told: %v", text, err)
		}
		if _, err := seal.NewKeys(seal.NewKey(), text); err == nil {
			t.Errorf("%q was taken as a former key", text)
		}
	}
	if _, err := seal.NewKeys(" " + seal.NewKey() + "\n"); err != nil {
		t.Error(err)
	}
}
