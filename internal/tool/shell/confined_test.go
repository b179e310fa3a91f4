//go:build services && linux

package shell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
)

func confined() sandbox.Options {
	return sandbox.Options{Tier: sandbox.TierBubblewrap, AllowRoot: true}
}

func TestACommandInTheSandbox(t *testing.T) {
	b := newBench(t, confined())
	must(t, os.Mkdir(filepath.Join(b.dir, "sub"), 0o755))
	r := b.run(t, "command", "pwd; echo new > new; echo x > ../x || echo kept out; exit 4", "cwd", "sub")
	if !strings.HasPrefix(r.Text, filepath.Join(b.dir, "sub")+"\n") || !strings.HasSuffix(r.Text, "\n[exit code 4]") {
		t.Errorf("%s", r.Text)
	}
	want := []tool.Change{{Path: "sub/new", After: hashOf("new\n"), Bytes: 4}, {Path: "x", After: hashOf("x\n"), Bytes: 2}}
	if diff := cmp.Diff(want, r.Facts.Wrote); diff != "" {
		t.Error(diff) // no placeholder of a protected path is among them
	}
}

// TestTheModelIsToldWhatWasSetAside has a command write instructions for the agents of tomorrow.
func TestTheModelIsToldWhatWasSetAside(t *testing.T) {
	b := newBench(t, confined())
	r := b.run(t, "command", "echo obey > AGENTS.md")
	if want := "[AGENTS.md: was made or changed while the command ran and lies in AGENTS.md.set-aside now;"; !strings.Contains(r.Text, want) {
		t.Errorf("%s", r.Text)
	}
	if diff := cmp.Diff([]tool.Change{{Path: "AGENTS.md.set-aside", After: hashOf("obey\n"), Bytes: 5}}, r.Facts.Wrote); diff != "" {
		t.Error(diff)
	}
}

// TestCancelledCommandsAreGone cancels commands whose children do what they can to live on.
func TestCancelledCommandsAreGone(t *testing.T) {
	b := newBench(t, confined())
	var took []time.Duration
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		begun := filepath.Join(b.dir, fmt.Sprint("begun", i))
		cancelled := make(chan time.Time, 1)
		go func() {
			for {
				if _, err := os.Stat(begun); err == nil {
					cancelled <- time.Now()
					cancel()
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		line := fmt.Sprintf("(setsid nohup sh -c 'trap \"\" TERM HUP INT; touch begun%d; while :; do date > alive; sleep 0.02; done' >/dev/null 2>&1 &); sleep 60", i)
		if _, err := b.set.Run(ctx, call(t, "command", line)); !errors.Is(err, context.Canceled) {
			t.Fatalf("the call gave %v", err)
		}
		took = append(took, time.Since(<-cancelled))
		alive := filepath.Join(b.dir, "alive")
		must(t, os.RemoveAll(alive))
		time.Sleep(60 * time.Millisecond)
		if _, err := os.Stat(alive); err == nil {
			t.Fatal("a process went on")
		}
	}
	slices.Sort(took)
	t.Logf("cancel to gone: half within %s, all within %s", took[len(took)/2], took[len(took)-1])
	measure.Most(t, "escape: a cancelled command is gone", took[len(took)-1], 2*time.Second)
}
