//go:build services

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"github.com/retinue-dev/retinue/internal/toolbox"
)

var (
	update = flag.Bool("update", false, "rewrite what the scenarios expect")
	store  = flag.String("histories", "", "add the engine's histories to this folder; existing ones stay")
)

// asWorker holds the spec of a worker that this binary is to be instead of a test.
const asWorker = "RETINUE_E2E_WORKER"

func TestMain(m *testing.M) {
	if code, ours := toolbox.SandboxInit(os.Args[1:]); ours {
		os.Exit(code) // the first process of a sandbox
	}
	if len(os.Args) == 2 && os.Args[1] == notesServer {
		if err := serveNotes(context.Background()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	spec := os.Getenv(asWorker)
	if spec == "" {
		code := m.Run()
		reportServed()
		os.Exit(code)
	}
	if err := work(spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work is a worker until somebody ends it.
func work(text string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var spec nodeSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	node, err := spec.open(ctx, &logs{}, nil)
	if err != nil {
		return err
	}
	if err := node.Work(); err != nil {
		return err
	}
	fmt.Println("ready")
	<-ctx.Done()
	return node.Close()
}

// logs keeps the logs of a scenario's programs, to be shown if it fails.
type logs struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
