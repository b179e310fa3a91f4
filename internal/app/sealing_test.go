package app

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/secret"
)

// TestTheKeyIsMadeOnce has many processes start in the same folder at once.
func TestTheKeyIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	loaded, err := config.LoadSettings(config.Inputs{Flags: []config.Flag{{Name: "--set", Key: "data_dir", Value: dir}}})
	if err != nil {
		t.Fatal(err)
	}
	begin := func() (*seal.Keys, error) {
		return (&Node{options: NodeOptions{Loaded: loaded, Vault: &secret.Vault{}}}).sealingKeys()
	}
	keys := make([]*seal.Keys, 20)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			var err error
			if keys[i], err = begin(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	tenant, err := keys[0].NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if _, _, err := k.Unwrap("acme", keys[0].Wrap(tenant)); err != nil {
			t.Fatalf("two keys were made: %v", err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	path := filepath.Join(dir, sealingName)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(); err == nil || !strings.Contains(err.Error(), "read by others") {
		t.Errorf("a key that others can read is taken: %v", err)
	}
}

// TestKeysOfSettings reads the keys as servers are told to.
func TestKeysOfSettings(t *testing.T) {
	env := map[string]string{"KEY": seal.NewKey(), "BEFORE": seal.NewKey(), "DSN": "postgres://db/x", "BAD": "short-but-secret"}
	keysWith := func(set ...string) (*seal.Keys, *secret.Vault, error) {
		t.Helper()
		in := config.Inputs{Home: t.TempDir(), DataHome: t.TempDir()}
		for i := 0; i < len(set); i += 2 {
			in.Flags = append(in.Flags, config.Flag{Name: "--set", Key: set[i], Value: set[i+1]})
		}
		loaded, err := config.LoadSettings(in)
		if err != nil {
			t.Fatal(err)
		}
		lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		n := &Node{options: NodeOptions{Loaded: loaded, Lookup: lookup, Vault: &secret.Vault{}}}
		Hide(n.options.Vault, loaded.Settings, lookup)
		keys, err := n.sealingKeys()
		return keys, n.options.Vault, err
	}
	before, err := seal.NewKeys(env["BEFORE"])
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := before.NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	wrapped := before.Wrap(tenant)
	keys, vault, err := keysWith("journal.dsn", "{env:DSN}", "sealing.key", "{env:KEY}", "sealing.former", "{env:BEFORE}")
	if err != nil {
		t.Fatal(err)
	}
	if _, stale, err := keys.Unwrap("acme", wrapped); err != nil || !stale {
		t.Errorf("the former key: stale %t, %v", stale, err)
	}
	if got := vault.Redact(env["KEY"] + env["BEFORE"]); strings.Contains(got, env["KEY"]) || strings.Contains(got, env["BEFORE"]) {
		t.Errorf("the keys are shown: %s", got)
	}
	if keys, _, err := keysWith("journal.dsn", "{env:DSN}"); keys != nil || err != nil {
		t.Errorf("servers that share a database made a key of their own: %v", err)
	}
	if keys, _, err := keysWith(); keys == nil || err != nil {
		t.Errorf("a machine of one's own has no key: %v", err)
	}
	for _, key := range []string{"{env:BAD}", "{env:MISSING}"} {
		if _, _, err := keysWith("sealing.key", key); err == nil || strings.Contains(err.Error(), env["BAD"]) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
