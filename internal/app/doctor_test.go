package app

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/doctor"
)

// listen opens a port that accepts connections until the test ends.
func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// inputs writes settings for a person and leaves out everything else of this machine.
func inputs(t *testing.T, text string) config.Inputs {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "xdg", "retinue")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "retinue.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Inputs{Home: filepath.Join(root, "home"), ConfigHome: filepath.Join(root, "xdg"), Project: filepath.Join(root, "project")}
}

// TestDoctorOpensWhatServersOpen has it look at a port that is no Postgres, and no Temporal.
func TestDoctorOpensWhatServersOpen(t *testing.T) {
	at := listen(t)
	failed := map[string]bool{}
	for _, f := range Doctor(t.Context(), inputs(t, "journal: {dsn: 'postgres://me@"+at+"/db'}\nengine: {temporal_address: '"+at+"'}\n")) {
		failed[f.Check] = failed[f.Check] || f.Level == doctor.Fail
	}
	for check, want := range map[string]bool{"postgres": false, "journal": true, "temporal": false, "engine": true, "web": false} {
		if got, said := failed[check]; !said || got != want {
			t.Errorf("%s failed: %t, said: %t", check, got, said)
		}
	}
}
