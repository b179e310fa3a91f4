package local

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// TestAnEngineIsLetGoOnce closes twice what could not be opened whole: who opened it does, and who
// called.
func TestAnEngineIsLetGoOnce(t *testing.T) {
	dir, stopped := t.TempDir(), 0
	open := func() *Engine {
		t.Helper()
		e, err := OpenEngine(t.Context(), OpenOptions{
			Dir: dir, Alone: true, Logger: slog.New(slog.DiscardHandler),
			Start: func(context.Context, EngineOptions) (EngineServer, error) {
				return EngineServer{Address: "127.0.0.1:1", Stop: func() error { stopped++; return nil }}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := open()
	for range 2 {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	second := open()
	if err := first.Close(); err != nil { // what another has taken since is theirs
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ownerFile)); err != nil || stopped != 1 {
		t.Errorf("stopped %d times, %v", stopped, err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
