//go:build services

package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

var paused = flag.Bool("paused", false, "stop a worker for ten seconds while it runs commands")

// pausedModel runs a command that never ends and writes a file every half second, or one that ends
// at once.
const pausedModel = `
name: paused
rules:
  - name: loop
    when: {turn: 0, text: 'loop (?P<n>\d+)'}
    reply: {calls: [{tool: shell, args: {command: 'i=0; while :; do i=$((i+1)); echo $i > alive-${n}; sleep 0.5; done', timeout: 600}}]}
  - {name: look, when: {turn: 0, text: 'look'}, reply: {calls: [{tool: shell, args: {command: 'true'}}]}}
  - {name: told, when: {turn: 1, results: true}, reply: {text: 'got: ${result}'}}
`

const (
	pauseFor = 10 * time.Second
	// quietFor is how long no command may have written before it counts as gone: six of its rounds.
	quietFor = 3 * time.Second
	// goneWithin is how long after the worker is back the last of them may have written.
	goneWithin = 5 * time.Second
)

// TestPaused stops a worker that runs commands which a person approved, as a laptop that sleeps
// does. The engine takes it for lost. When it is back, it kills them: none runs on, cancelled or
// not. The models, the person and the agent that runs the next command there are told.
//
// Covers: P9.
func TestPaused(t *testing.T) {
	if !*paused {
		t.Skip("run make paused")
	}
	commands := 50
	if testing.Short() {
		commands = 5
	}
	h := newHosted(t, pausedModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	p := &pause{hosted: h, who: h.settle(t, "ann")}
	worker := h.start(t, "worker: ready", "worker", "--workspace", p.who.tenant+"/shop="+filepath.Join(h.dir, "shop"),
		"--set", "sandbox.allow_root=true", "--set", "worker.slots=200", "--set", "worker.tenant_slots=200")
	p.at = h.serve(t)
	var talks []string
	for n := range commands {
		talks = append(talks, p.approved(t, fmt.Sprint("loop ", n)))
	}
	p.until(t, "all commands run", func() bool { return len(p.wrote(t, time.Time{})) == commands })

	p.signal(t, worker, syscall.SIGSTOP)
	stopped := time.Now()
	for _, id := range talks[:commands/2] {
		if status, text := h.call(t, p.at, p.who, http.MethodPost, "/v1/conversations/"+id+"/cancel", map[string]any{}); status >= http.StatusBadRequest {
			t.Errorf("cancel: %d %s", status, text)
		}
	}
	time.Sleep(time.Until(stopped.Add(pauseFor)))
	ran := len(p.wrote(t, time.Now().Add(-quietFor)))
	resumed := time.Now()
	p.signal(t, worker, syscall.SIGCONT)
	p.until(t, "no command writes any more", func() bool { return len(p.wrote(t, time.Now().Add(-quietFor))) == 0 })
	var last time.Duration
	for _, at := range p.wrote(t, time.Time{}) {
		last = max(last, at.Sub(resumed))
	}
	told, shown := 0, 0
	for _, id := range talks[commands/2:] {
		p.until(t, "the model is told", func() bool { return strings.Contains(p.said(t, id), "got: ") })
		if said := p.said(t, id); strings.Contains(said, "got: The worker was") && strings.Contains(said, "check before you repeat it") {
			told++
		}
		if _, calls := h.call(t, p.at, p.who, http.MethodGet, "/v1/conversations/"+id+"/agents/main/tool-calls", nil); strings.Contains(calls, `"indeterminate"`) {
			shown++
		}
	}
	if want := commands - commands/2; ran != commands || told != want || shown != want {
		t.Errorf("%d of %d ran while the worker was paused; of %d models %d were told, and %d people are shown it", ran, commands, want, told, shown)
	}
	look := p.approved(t, "look")
	p.until(t, "the next command has ended", func() bool { return strings.Contains(p.said(t, look), "got: ") })
	if said := p.said(t, look); strings.Count(said, "a command that began in this workspace at") < commands-commands/2 {
		t.Errorf("the next command there is told %s", said)
	}
	wall, still := measure.NewWall(t, "1.4"), p.wrote(t, time.Now().Add(-quietFor))
	for file := range p.wrote(t, time.Time{}) {
		wall.Try(!still[file].IsZero(), "%s is still written to", filepath.Base(file))
	}
	measure.Figure(t, "%d approved commands, worker paused for %s: 0 run on, %d of them cancelled meanwhile; %d of %d models told, the next command too",
		commands, pauseFor, commands/2, told, commands-commands/2)
	measure.Most(t, "paused: the last command is gone after the worker is back", last, goneWithin)
}

// pause is an installation whose worker is stopped for a while.
type pause struct {
	*hosted
	who resident
	at  string
}

// approved begins a conversation, and allows the call that it wants.
func (p *pause) approved(t *testing.T, text string) string {
	t.Helper()
	status, begun := p.call(t, p.at, p.who, http.MethodPost, "/v1/conversations", map[string]any{"workspace": "shop", "message": text})
	var c struct{ ID string }
	if err := json.Unmarshal([]byte(begun), &c); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s", status, begun)
	}
	path := "/v1/conversations/" + c.ID + "/approvals"
	var list struct{ Items []struct{ ID, Hash string } }
	p.until(t, "something is to be approved", func() bool {
		_, text := p.call(t, p.at, p.who, http.MethodGet, path, nil)
		return json.Unmarshal([]byte(text), &list) == nil && len(list.Items) > 0
	})
	body := map[string]any{"allow": true, "hash": list.Items[0].Hash, "scope": "once"}
	if status, text := p.call(t, p.at, p.who, http.MethodPost, path+"/"+list.Items[0].ID+"/decision", body); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	return c.ID
}

func (p *pause) said(t *testing.T, id string) string {
	t.Helper()
	_, said := p.call(t, p.at, p.who, http.MethodGet, "/v1/conversations/"+id+"/messages", nil)
	return said
}

// wrote are the commands that have written since then, and when they did last.
func (p *pause) wrote(t *testing.T, since time.Time) map[string]time.Time {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "shop", "alive-*"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]time.Time{}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(since) {
			found[file] = info.ModTime()
		}
	}
	return found
}

func (p *pause) signal(t *testing.T, worker running, s syscall.Signal) {
	t.Helper()
	if err := worker.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (p *pause) until(t *testing.T, what string, there func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !there(); time.Sleep(glance) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
