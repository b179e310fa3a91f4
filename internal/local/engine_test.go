package local

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// TestAnotherProcessGoesOnWithTheEngine has two use one folder; when the owner ends, the other runs
// the engine at the same address.
func TestAnotherProcessGoesOnWithTheEngine(t *testing.T) {
	dir, started := t.TempDir(), make(chan string, 2)
	open := func(alone bool) (*Engine, error) {
		return OpenEngine(t.Context(), OpenOptions{
			Dir: dir, Alone: alone, Logger: slog.New(slog.DiscardHandler),
			Start: func(_ context.Context, o EngineOptions) (EngineServer, error) {
				started <- o.Listen
				return EngineServer{Address: "127.0.0.1:7", Stop: func() error { return nil }}, nil
			},
		})
	}
	first, err := open(false)
	if err != nil || !first.Ours || <-started != "" {
		t.Fatalf("the first: %+v, %v", first, err)
	}
	if _, err := open(true); err == nil || !strings.Contains(err.Error(), "stop it, or choose another folder") {
		t.Errorf("one that wants the folder alone: %v", err)
	}
	second, err := open(false)
	if err != nil || second.Ours || second.Owner.Address != "127.0.0.1:7" {
		t.Fatalf("the second: %+v, %v", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case at := <-started:
		if at != "127.0.0.1:7" {
			t.Errorf("it goes on at %q", at)
		}
	case <-time.After(time.Minute):
		t.Error("nobody goes on with the engine")
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
