package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/doctor"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/webhook"
)

// TestDoctorLooksForTheKeyOfWebhooks has doctor look at a data folder whose key was lost, changed,
// shown to others and put back.
func TestDoctorLooksForTheKeyOfWebhooks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, sealingName)
	look := func(want doctor.Level, words string) {
		t.Helper()
		var found []doctor.Finding
		for _, f := range Doctor(t.Context(), inputs(t, "data_dir: "+dir+"\n")) {
			if f.Check == "webhooks" {
				found = append(found, f)
			}
		}
		switch {
		case want == "" && len(found) == 0:
		case len(found) != 1 || found[0].Level != want || !strings.Contains(found[0].Detail, words) || (want == doctor.Fail) != (found[0].Advice != ""):
			t.Errorf("want %s with %q, not %+v", want, words, found)
		}
	}
	put := func(text string, mode os.FileMode) {
		t.Helper()
		_ = os.Remove(path) // it may not be there
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	look("", "") // nothing was ever started here
	n := &Node{Log: journaltest.NewMemory(), options: NodeOptions{
		Logger: slog.New(slog.DiscardHandler), Vault: &secret.Vault{}, Loaded: config.Loaded{Settings: config.Settings{DataDir: dir}},
	}}
	h, err := n.openHooks(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	look("", "") // there are none
	_, err = h.Add(t.Context(), webhook.Hook{Tenant: "local", ID: "w1", URL: "https://example.com", Secret: webhook.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	look(doctor.OK, "1, whose secrets")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look(doctor.Fail, "1 cannot be sent")
	if _, err := os.Stat(path); err == nil {
		t.Error("doctor made a key")
	}
	put(seal.NewKey(), 0o600)
	look(doctor.Fail, "is not the key")
	put("short", 0o600)
	look(doctor.Fail, sealingName)
	put(string(kept), 0o644)
	look(doctor.Fail, "read by others")
	put(string(kept), 0o600)
	look(doctor.OK, "1, whose secrets")
}
