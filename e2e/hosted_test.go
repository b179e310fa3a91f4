//go:build services

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/model/scripted"
	"github.com/retinue-dev/retinue/internal/mtls"
)

// hostedModel has an agent read a file, which shows its worker, and then make a long call.
const hostedModel = `
name: hosted
rules:
  - name: send
    when: {system: '(?m)^You are the main agent', turn: 0}
    reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Read the file.'}]}}]}
  - {name: read, when: {turn: 0}, reply: {calls: [{tool: read_file, args: {path: a.md}}]}}
  - {name: slow, when: {turn: 1, result: 'canary', attempt: 0}, reply: {delay: 60s, text: 'Never said.'}}
  - {name: report, when: {turn: 1, result: 'canary'}, reply: {calls: [{tool: submit_result, args: {summary: 'A bird.'}}]}}
  - {name: answer, when: {turn: 1, result: 'A bird'}, reply: {text: 'It is a bird.'}}
  - {name: thanks, when: {turn: 2, text: 'Thank you'}, reply: {text: 'You are welcome.'}}
`

// TestHosted lays the shipped programs out as docs/operating.md tells people to, each a process of
// its own, and kills the worker that has the run. Then it deploys workers with a build, and the
// conversation continues there.
func TestHosted(t *testing.T) {
	t.Parallel()
	h := newHosted(t, hostedModel)
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	serve := []string{"worker", "--workspace", "shop=" + filepath.Join(h.dir, "shop")}
	workers := map[int]*exec.Cmd{}
	for range 2 {
		w := h.start(t, "worker: ready", serve...)
		workers[w.Process.Pid] = w.Cmd
	}
	run, out := h.ask(t, "What is in the file?")
	h.await(t, "slow")
	ref, holder := h.holder(t)
	killed := workers[holder]
	if killed == nil {
		t.Fatalf("process %d works for the run, and is none of the workers", holder)
	}
	if err := killed.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // that it was killed is known
	died := time.Now()
	delete(workers, holder)
	awaitEnd(t, run, time.Now().Add(patience))
	t.Logf("the answer came %v after the kill", time.Since(died))
	checkAnswer(t, out.Bytes(), ref, "It is a bird.", host.Root, "main/1.0.0")
	for _, w := range workers {
		if err := w.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		awaitEnd(t, w, time.Now().Add(patience))
	}

	h.start(t, "worker: ready", append(serve, "--build", "1.4.2")...)
	h.finish(t, "promote", "--build", "1.4.2")
	run, out = h.ask(t, "Thank you", "--continue", ref.Conversation)
	awaitEnd(t, run, time.Now().Add(patience))
	checkAnswer(t, out.Bytes(), ref, "You are welcome.", host.Root)
	h.checkBooks(t, ref)
	rules := map[string]int{"send": 1, "read": 1, "slow": 1, "report": 1, "answer": 1, "thanks": 1}
	if diff := cmp.Diff(rules, asked(h.meter(t))); diff != "" {
		t.Errorf("what the model should be asked (-) and what it was (+):\n%s", diff)
	}
	if strings.Contains(h.errs.String(), "warning:") {
		t.Error("the settings that docs/operating.md shows are warned of")
	}
}

// hosted is an installation of several processes.
type hosted struct {
	dir, binary string
	// model is where the scripted model listens.
	model string
	env   []string
	log   journal.Log
	errs  *logs
}

// newHosted starts the services of the programs: a journal's database that is empty, an engine on
// Postgres, and a model.
func newHosted(t *testing.T, model string) *hosted {
	t.Helper()
	h := &hosted{dir: t.TempDir(), binary: program(t, "retinue", "lean"), errs: &logs{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", h.errs)
		}
	})
	engine := &stack{}
	engine.startEngine(t, []string{"--postgres", postgrestest.New(t, "_visibility").DSN})
	d := postgrestest.New(t)
	h.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "XDG_CONFIG_HOME=" + filepath.Join(h.dir, "config"),
		"OWNER_DSN=" + d.DSN, "JOURNAL_DSN=" + d.As(postgres.Role), "NATS_URL=" + natsURL(), "MODEL_KEY=key",
	}
	h.write(t, "model.yaml", model)
	h.write(t, "shop/a.md", "canary\n")
	h.model = h.start(t, "anthropic base url", "scripted", "--script", filepath.Join(h.dir, "model.yaml")).words[3]
	h.write(t, "config/retinue/retinue.yaml", fmt.Sprintf(
		"%sproviders: {demo: {kind: anthropic, base_url: %q, key: '{env:MODEL_KEY}'}}\n"+
			"tiers: {fast: demo/fast, balanced: demo/balanced, strong: demo/strong}\n",
		strings.NewReplacer("temporal.internal:7233", engine.engine, "/etc/retinue/temporal-ca.pem", mtls.Client(engine.credentials).CA,
			"/etc/retinue/temporal-client.pem", mtls.Client(engine.credentials).Cert).Replace(documented(t)), h.model))
	return h
}

// documented are the settings that docs/operating.md shows.
func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	block, _, ended := strings.Cut(rest, "```")
	if !found || !ended || !strings.Contains(block, "temporal_address") {
		t.Fatal("docs/operating.md shows no settings")
	}
	return block
}

func (h *hosted) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// extend writes on at the end of a file.
func (h *hosted) extend(t *testing.T, name, text string) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, name, string(before)+text)
}

func (h *hosted) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.binary, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = h.dir, h.env, h.errs
	return cmd
}

// ask starts a run, whose answer is in the buffer when it has ended.
func (h *hosted) ask(t *testing.T, question string, flags ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, out := h.command(append([]string{"run", "--workspace", "shop", "--output-format", "json", question}, flags...)...), &bytes.Buffer{}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopProcess(t, cmd) })
	return cmd, out
}

// finish runs a program to its end.
func (h *hosted) finish(t *testing.T, args ...string) {
	t.Helper()
	cmd := h.command(args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// running is a program that keeps running, and the words of the line in which it said that it is
// ready.
type running struct {
	*exec.Cmd
	words []string
}

// start runs a program and waits for a line that begins like this.
func (h *hosted) start(t *testing.T, begins string, args ...string) running {
	t.Helper()
	cmd := h.command(args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopProcess(t, cmd) })
	lines := bufio.NewReader(out)
	for {
		line, err := firstLine(lines, patience)
		if err != nil {
			t.Fatalf("%v did not come up: %v", args, err)
		}
		if strings.HasPrefix(line, begins) {
			return running{Cmd: cmd, words: strings.Fields(line)}
		}
	}
}

func (h *hosted) meter(t *testing.T) scripted.Meter {
	t.Helper()
	answer, err := http.Get(h.model + "/_scripted/meter")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	var m scripted.Meter
	if err := json.NewDecoder(answer.Body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// await waits until the model was asked by a rule.
func (h *hosted) await(t *testing.T, rule string) {
	t.Helper()
	for deadline := time.Now().Add(patience); asked(h.meter(t))[rule] == 0; time.Sleep(glance) {
		if time.Now().After(deadline) {
			t.Fatalf("the model was not asked by rule %s within %v", rule, patience)
		}
	}
}

// holder finds the one conversation in the journal, and the process that works for its sub-agent.
func (h *hosted) holder(t *testing.T) (journal.Ref, int) {
	t.Helper()
	log, err := postgres.Open(t.Context(), postgres.Options{DSN: h.value("JOURNAL_DSN")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	h.log = log
	list, err := log.Conversations(t.Context(), app.LocalTenant, journal.Page{Limit: 2})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d conversations instead of one: %v", len(list), err)
	}
	ref := journal.Ref{Tenant: app.LocalTenant, Conversation: list[0].ID}
	in := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	entries, err := log.Find(t.Context(), ref, journal.ToolStarted{In: in, Call: "1.0", Attempt: 1}.Key())
	if err != nil || len(entries) != 1 {
		t.Fatalf("nobody has read the file: %v", err)
	}
	started, _ := entries[0].Row.(journal.ToolStarted)
	_, pid, _ := strings.Cut(started.Worker, "/")
	var number int
	if _, err := fmt.Sscan(pid, &number); err != nil {
		t.Fatalf("the worker is called %q: %v", started.Worker, err)
	}
	return ref, number
}

// checkAnswer compares the output of run with the model's answer, and with the agents of the turn.
func checkAnswer(t *testing.T, out []byte, ref journal.Ref, result string, agents ...string) {
	t.Helper()
	type agent struct {
		Agent  string `json:"agent_path"`
		Status string
	}
	var found struct {
		Conversation, Status, Result string
		Agents                       []agent
	}
	want := found
	want.Conversation, want.Status, want.Result = ref.Conversation, "completed", result
	for _, id := range agents {
		want.Agents = append(want.Agents, agent{id, "completed"})
	}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("run printed %q: %v", out, err)
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("what run should print (-) and what it printed (+):\n%s", diff)
	}
}

// checkBooks checks the journal against what must be true of every one.
func (h *hosted) checkBooks(t *testing.T, ref journal.Ref) {
	t.Helper()
	if err := journaltest.Verify(t.Context(), h.log, ref); err != nil {
		t.Error(err)
	}
	entries, err := h.log.Entries(t.Context(), ref, 0, journal.PageMaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	checkBooks(t, entries)
}
