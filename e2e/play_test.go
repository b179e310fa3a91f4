//go:build services

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

const (
	// patience is how long a play waits for anything.
	patience = 2 * time.Minute
	// glance is the time between two looks.
	glance = 20 * time.Millisecond
	// person is who talks.
	person = "ada"
)

// stage is one scenario being played on one stack.
type stage struct {
	*scenario
	stack    *stack
	spec     nodeSpec
	ref      journal.Ref
	provider *provider
	// node is what people use; workers are apart from it.
	node    *app.Node
	worker  *app.Node
	process *exec.Cmd
	logs    *logs
	closed  bool
}

// newStage lays a scenario out on a stack.
func newStage(t *testing.T, s *scenario, on *stack, legEffects int) *stage {
	t.Helper()
	st := &stage{scenario: s, stack: on, provider: newProvider(t, s.script, s.held()...), logs: &logs{}}
	id := fmt.Sprintf("%s-%d", s.name, legEffects)
	st.ref = journal.Ref{Tenant: app.LocalTenant, Conversation: id}
	home := t.TempDir()
	st.spec = on.spec()
	st.spec.Home, st.spec.Folder, st.spec.Workspace = home, filepath.Join(home, "work"), "w-"+id
	st.spec.Model, st.spec.LegEffects, st.spec.Guest = st.provider.url, legEffects, s.guest
	st.furnish(t)
	var err error
	if st.node, err = st.spec.open(t.Context(), st.logs, on.control.Log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		st.stopWorker(t)
		closeNode(t, st.node)
		if t.Failed() {
			t.Logf("log:\n%s", st.logs)
		}
	})
	st.startWorker(t)
	return st
}

// furnish writes the files of the scenario.
func (st *stage) furnish(t *testing.T) {
	t.Helper()
	files := map[string]string{
		"managed/retinue.yaml":        fmt.Sprintf("trust: [%q]\n", st.spec.Folder),
		"config/retinue/retinue.yaml": st.settings,
	}
	for name, text := range st.work {
		files["work/"+name] = text
	}
	for name, text := range files {
		path := filepath.Join(st.spec.Home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(st.spec.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
}

// do carries one line of play out.
func (st *stage) do(t *testing.T, line string) {
	t.Helper()
	c, err := readCommand(0, line)
	if err == nil {
		err = st.act(t, c)
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// startWorker begins to carry out legs, in this process or in one that can be killed.
func (st *stage) startWorker(t *testing.T) {
	t.Helper()
	if !st.processes {
		node, err := st.spec.open(t.Context(), st.logs, st.stack.control.Log)
		if err != nil {
			t.Fatal(err)
		}
		st.worker = node
		if err := node.Work(); err != nil {
			t.Fatal(err)
		}
		return
	}
	spec, err := json.Marshal(st.spec)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asWorker+"="+string(spec))
	cmd.Stderr = st.logs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	st.process = cmd
	if line, err := firstLine(bufio.NewReader(out), patience); line != "ready" {
		t.Fatalf("the worker did not come up: %q %v\n%s", line, err, st.logs)
	}
}

// stopWorker lets the worker hand over its work.
func (st *stage) stopWorker(t *testing.T) {
	t.Helper()
	if st.worker != nil {
		closeNode(t, st.worker)
		st.worker = nil
	}
	if st.process != nil {
		stopProcess(t, st.process)
		st.process = nil
	}
}

// killWorker gives it no chance to say anything.
func (st *stage) killWorker(t *testing.T) {
	t.Helper()
	if err := st.process.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = st.process.Wait() // that it was killed is known
	st.process = nil
}

// act carries one command out.
func (st *stage) act(t *testing.T, c command) error {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	switch c.verb {
	case "open":
		return st.open(ctx, c)
	case "wait":
		return st.wait(ctx, c)
	case "release":
		return st.release(ctx, c)
	case "kill":
		st.killWorker(t)
		return nil
	case "drain":
		st.stopWorker(t)
		return nil
	case "start":
		st.startWorker(t)
		return nil
	case "pause":
		length, err := time.ParseDuration(c.args[1])
		if err != nil {
			return err
		}
		return st.stack.pause(length)
	case "both":
		return st.both(ctx, c)
	case "change":
		return os.WriteFile(filepath.Join(st.spec.Folder, c.args[0]), []byte(c.text+"\n"), 0o600)
	default:
		return st.person(ctx, c)
	}
}

func (st *stage) open(ctx context.Context, c command) error {
	talk := api.NewConversation{By: person, Workspace: st.spec.Workspace}
	for _, word := range c.args {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "headless":
			talk.Headless = true
		case "cost":
			talk.Cost, err = strconv.ParseInt(value, 10, 64)
		case "time":
			talk.Time, err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("there is no %q", key)
		}
		if err != nil {
			return err
		}
	}
	return st.node.Open(ctx, st.ref, talk)
}

// person plays the people. A decision or a message for an agent that has finished is no error here:
// the journal shows its outcome.
func (st *stage) person(ctx context.Context, c command) error {
	client := st.node.Client
	var err error
	switch c.verb {
	case "say", "reply", "decline":
		m := durable.Message{
			ID: c.args[0], By: person, Parts: []chat.Part{{Kind: chat.PartText, Text: c.text}}, Decline: c.verb == "decline",
		}
		if c.verb != "say" {
			m.InReplyTo = c.args[2]
		}
		_, err = client.Say(ctx, st.ref, m)
	case "allow", "edit", "deny":
		err = st.decide(ctx, c)
	case "cancel":
		task := ""
		if len(c.args) == 3 {
			task = c.args[2]
		}
		err = client.Cancel(ctx, st.ref, c.args[0], person, task)
	case "close":
		st.closed = true
		err = client.Close(ctx, st.ref, person)
	default:
		return fmt.Errorf("nobody can %s", c.verb)
	}
	if chat.CodeOf(err) == chat.CodeConflict {
		return nil
	}
	return err
}

func (st *stage) decide(ctx context.Context, c command) error {
	in := journal.In{Agent: c.args[0], Task: c.args[0]}
	entries, err := st.node.Log.Find(ctx, st.ref, journal.ApprovalRequested{In: in, Call: c.args[1]}.Key())
	if err != nil || len(entries) == 0 {
		return fmt.Errorf("no approval of %v is open: %w", c.args, err)
	}
	wanted, ok := entries[0].Row.(journal.ApprovalRequested)
	if !ok {
		return fmt.Errorf("%v is no approval", c.args)
	}
	d := journal.ApprovalDecided{
		In: wanted.In, Call: wanted.Call, Hash: wanted.Hash, Allow: c.verb != "deny", By: person, Scope: "once",
	}
	if c.verb == "edit" {
		d.Args = c.text
	} else {
		d.Reason = c.text
	}
	if len(c.args) == 3 {
		d.Scope = c.args[2]
	}
	return st.node.Client.Decide(ctx, st.ref, d)
}

// both does two things at once.
func (st *stage) both(ctx context.Context, c command) error {
	first, second, ok := strings.Cut(c.text, " / ")
	if !ok {
		return fmt.Errorf("both needs two commands with a / between them")
	}
	done := make(chan error, 2)
	for _, line := range []string{first, second} {
		one, err := readCommand(c.line, line)
		if err != nil {
			return err
		}
		go func() { done <- st.person(ctx, one) }()
	}
	if err := <-done; err != nil {
		return err
	}
	return <-done
}

// wait returns when something has happened.
func (st *stage) wait(ctx context.Context, c command) error {
	word := c.args[1]
	switch c.args[0] {
	case "turn":
		want, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		return st.waitRows(ctx, want, func(row journal.Row) bool { return row.Kind() == journal.KindTurnEnded })
	case "step", "move":
		return st.waitTaken(ctx, c)
	case "beat":
		return st.waitBeat(ctx, word)
	case "rule":
		return st.waitRule(ctx, c)
	case "row":
		return st.until(ctx, func() (bool, error) {
			entries, err := st.node.Log.Find(ctx, st.ref, word)
			return len(entries) > 0, err
		})
	case "file":
		return st.until(ctx, func() (bool, error) {
			_, err := os.Stat(filepath.Join(st.spec.Folder, word))
			return err == nil, nil
		})
	case "no":
		return st.waitQuiet(ctx, c)
	}
	return fmt.Errorf("there is no waiting for %s", c.args[0])
}

// waitRows waits until so many rows are of a kind.
func (st *stage) waitRows(ctx context.Context, want int, is func(journal.Row) bool) error {
	return st.until(ctx, func() (bool, error) {
		n := 0
		entries, err := st.entries(ctx)
		for _, e := range entries {
			if is(e.Row) {
				n++
			}
		}
		return n >= want, err
	})
}

// waitTaken waits until an agent has taken an event in, or has come to a status, so many times.
func (st *stage) waitTaken(ctx context.Context, c command) error {
	if len(c.args) < 3 {
		return fmt.Errorf("wait %s needs an agent and what it is waited for", c.args[0])
	}
	agent, name, want := c.args[1], c.args[2], 1
	if len(c.args) > 3 {
		var err error
		if want, err = strconv.Atoi(c.args[3]); err != nil {
			return err
		}
	}
	return st.waitRows(ctx, want, func(row journal.Row) bool {
		switch r := row.(type) {
		case journal.Stepped:
			return c.args[0] == "step" && r.Agent == agent && eventName(r) == name
		case journal.StatusChanged:
			return c.args[0] == "move" && r.Agent == agent && statusName(r) == name
		default:
			return false
		}
	})
}

// waitBeat waits until the engine has taken the next sign of life of an agent's leg.
func (st *stage) waitBeat(ctx context.Context, agent string) error {
	first := time.Time{}
	return st.until(ctx, func() (bool, error) {
		run, err := st.node.Client.Engine.DescribeWorkflowExecution(ctx, host.RunID(st.ref, agent), "")
		legs := run.GetPendingActivities()
		if err != nil || len(legs) == 0 {
			return false, err
		}
		beat := legs[0].GetLastHeartbeatTime().AsTime()
		if first.IsZero() {
			first = beat
		}
		return beat.After(first), nil
	})
}

// release lets a rule answer that was held. Everything that people did before has reached the
// engine by then.
func (st *stage) release(ctx context.Context, c command) error {
	name := strings.Join(c.args, " ")
	released, held := st.provider.held[name]
	if !held {
		return fmt.Errorf("rule %q is not held", name)
	}
	if err := st.waitTold(ctx); err != nil {
		return err
	}
	close(released)
	return nil
}

// waitTold waits until the engine has been told of everything that people did.
func (st *stage) waitTold(ctx context.Context) error {
	return st.until(ctx, func() (bool, error) {
		posts, err := st.node.Log.Pending(ctx, time.Now().Add(time.Hour), 1000)
		here := func(p journal.Post) bool { return p.Ref == st.ref }
		return err == nil && !slices.ContainsFunc(posts, here), err
	})
}

// waitRule waits until the model has been asked. The name of a rule may have several words, and the
// last may be a number.
func (st *stage) waitRule(ctx context.Context, c command) error {
	words, times := c.args[1:], 1
	if n, err := strconv.Atoi(words[len(words)-1]); err == nil && len(words) > 1 {
		words, times = words[:len(words)-1], n
	}
	name := strings.Join(words, " ")
	return st.until(ctx, func() (bool, error) { return st.provider.begun(name) >= times, nil })
}

// waitQuiet waits until nothing has been recorded for a while.
func (st *stage) waitQuiet(ctx context.Context, c command) error {
	quiet, err := time.ParseDuration(c.args[len(c.args)-1])
	if err != nil {
		return err
	}
	known, since := -1, time.Now()
	return st.until(ctx, func() (bool, error) {
		entries, err := st.entries(ctx)
		if len(entries) != known {
			known, since = len(entries), time.Now()
		}
		return time.Now().After(since.Add(quiet)), err // not a bound: it is how long nothing may come
	})
}

func (st *stage) until(ctx context.Context, there func() (bool, error)) error {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for {
		if ok, err := there(); ok || (err != nil && ctx.Err() == nil) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not happen within %v", patience)
		case <-ticker.C:
		}
	}
}

// entries are all rows of the conversation.
func (st *stage) entries(ctx context.Context) ([]journal.Entry, error) {
	var out []journal.Entry
	for {
		page, err := st.node.Log.Entries(ctx, st.ref, int64(len(out)), journal.PageMaxLimit)
		if err != nil {
			return nil, err
		}
		if out = append(out, page...); len(page) == 0 {
			return out, nil
		}
	}
}
