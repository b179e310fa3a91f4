package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// scripts are what the model plays in each test, by name.
var scripts = map[string]string{
	"claims": claims,
	"answer": `
name: answer
default: {text: "Forty-two."}`,
	"refused": `
name: refused
keys: [another]
default: {text: "Never said."}`,
	"slow": `
name: slow
default: {text: "At last.", delay: 60s}`,
	"unhurried": `
name: unhurried
default: {text: "In good time.", delay: 5s}`,
	"asks": `
name: asks
rules:
  - name: ask
    when: {turn: 0, tools: [ask_user]}
    reply: {calls: [{tool: ask_user, args: {question: "Which colour?", options: [red, blue]}}]}
  - name: report
    when: {turn: 1, tools: [submit_result]}
    reply: {calls: [{tool: submit_result, args: {result: "The answer was: ${result}"}}]}
  - name: hand out
    when: {turn: 0, tools: [spawn_agents]}
    reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: "Paint it."}]}}]}
default: {text: "It is painted."}`,
	"reads": `
name: reads
rules:
  - when: {turn: 0}
    reply: {calls: [{tool: read_file, args: {path: note.md}}]}
  - when: {turn: 1}
    reply: {calls: [{tool: read_file, args: {path: note.md}}]}
default: {text: "I have read it twice: ${result}"}`,
}

// project is a folder with settings that ask a scripted model, and a data folder of its own.
type project struct {
	t    *testing.T
	dir  string
	args []string
}

func newProject(t *testing.T, script string) *project {
	t.Helper()
	parsed, err := scripted.Parse(script, []byte(scripts[script]))
	if err != nil {
		t.Fatal(err)
	}
	model, err := scripted.New(parsed, scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := scripted.Listen("127.0.0.1:0", model)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // a slow reply may still be under way
	w := &project{t: t, dir: t.TempDir()}
	for _, setting := range []string{
		"data_dir=" + filepath.Join(w.dir, "data"), "providers.test.kind=anthropic",
		"providers.test.base_url=" + server.AnthropicURL(), "providers.test.key={env:TEST_KEY}",
		"tiers.fast=test/fast", "tiers.balanced=test/balanced", "tiers.strong=test/strong",
	} {
		w.args = append(w.args, "--set", setting)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// retinue is a command in the workshop.
func (w *project) retinue(args ...string) *exec.Cmd {
	cmd := program(w.t, slices.Concat(args[:1], w.args, args[1:])...)
	cmd.Dir = filepath.Join(w.dir, "work")
	cmd.Env = append(cmd.Env, "TEST_KEY=key", "HOME="+w.dir, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=")
	return cmd
}

// said is what a command left behind.
type said struct {
	Code   int
	Stdout string
	Stderr string
}

// finish runs a command to its end and reads what it said, times and ids taken out.
func finish(t *testing.T, cmd *exec.Cmd) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%v\n%s", exit, &stderr)
	}
	return said{cmd.ProcessState.ExitCode(), steady(stdout.String()), steady(stderr.String())}
}

var unsteady = []struct{ pattern, instead string }{
	{`(?m)^ +[0-9.]+s  `, ""},
	{`in [0-9.]+s`, "in 1.0s"},
	{`[0-9.]+k? tokens`, "N tokens"},
	{`\bc[a-z2-7]{24}\b`, "ID"},
	{`"duration_ms":\s*[0-9]+`, `"duration_ms": 1`},
	// Root is told that commands need a word of theirs.
	{`(?m)^(agents cannot run commands|the sandbox is started by root): .*\n`, ""},
}

func steady(text string) string {
	for _, u := range unsteady {
		text = regexp.MustCompile(u.pattern).ReplaceAllString(text, u.instead)
	}
	return text
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name, script string
		args         []string
		want         said
	}{
		{"done", "answer", []string{"run", "What is it?"}, said{
			exitDone, "Forty-two.\n", "main: Forty-two.\ncompleted in 1.0s, N tokens, price not known; conversation ID\n",
		}},
		{"failed", "refused", []string{"run", "What is it?"}, said{exitFailed, "", "*auth*"}},
		{"called wrongly", "answer", []string{"run", "--output-format", "xml", "What is it?"}, said{
			exitUsage, "", "retinue: --output-format xml: it is text, json or stream-json\nTry 'retinue run --help'.\n",
		}},
		{"no task", "answer", []string{"run", " "}, said{
			exitUsage, "", "retinue: there is nothing to do: write a task as the argument, or - to read it from the standard input\n",
		}},
		{"a person is needed", "asks", []string{"run", "Paint the shed"}, said{
			exitPerson, "It is painted.\n", "*a person was needed and nobody was there*",
		}},
		{"out of time", "slow", []string{"run", "--timeout", "1s", "What is it?"}, said{
			exitLimit, "", "*timed out in*a limit was reached*",
		}},
		{"out of money", "answer", []string{
			"run", "--set", "models.test/strong.input_usd=10", "--set", "models.test/strong.output_usd=10",
			"--max-cost", "0.000001", "What is it?",
		}, said{exitLimit, "", "*budget_exceeded*a limit was reached*"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := finish(t, newProject(t, c.script).retinue(c.args...))
			if strings.HasPrefix(c.want.Stderr, "*") {
				for part := range strings.SplitSeq(strings.Trim(c.want.Stderr, "*"), "*") {
					if !strings.Contains(got.Stderr, part) {
						t.Errorf("nothing is said of %q:\n%s", part, got.Stderr)
					}
				}
				c.want.Stderr = got.Stderr
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The exit codes that docs/cli.md promises.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitPerson    = 3
	exitLimit     = 4
	exitCancelled = 130
)

// waiting starts a program that runs until it is ended, and returns when it says that it is ready.
// The function that it returns waits for the end.
func waiting(t *testing.T, cmd *exec.Cmd) (rest func() said) {
	t.Helper()
	h := overhear(t, cmd)
	h.until(ready)
	return h.rest
}

// overheard is a command that is listened to while it runs.
type overheard struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader
	stdout string
	// complaints are sent a line each, and stderr has those that were received.
	complaints chan string
	stderr     string
}

// overhear starts a command.
func overhear(t *testing.T, cmd *exec.Cmd) *overheard {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	complaints, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended long since when all is well
	h := &overheard{t: t, cmd: cmd, out: bufio.NewReader(out), complaints: make(chan string, 10_000)}
	go func() {
		defer close(h.complaints)
		reader := bufio.NewReader(complaints)
		for {
			line, err := reader.ReadString('\n')
			if h.complaints <- line; err != nil {
				return
			}
		}
	}()
	return h
}

// until reads its standard output until that holds a text.
func (h *overheard) until(text string) {
	h.t.Helper()
	for !strings.Contains(h.stdout, text) {
		line, err := h.out.ReadString('\n')
		if h.stdout += line; err != nil {
			h.t.Fatalf("it ended before it said %q: %v\n%+v", text, err, h.rest())
		}
	}
}

// warned reads its standard error until that holds a text.
func (h *overheard) warned(text string) {
	h.t.Helper()
	for !strings.Contains(h.stderr, text) {
		line, more := <-h.complaints
		if h.stderr += line; !more {
			h.t.Fatalf("it ended before it said %q: %+v", text, h.rest())
		}
	}
}

// rest waits for its end.
func (h *overheard) rest() said {
	h.t.Helper()
	left, err := io.ReadAll(h.out)
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range h.complaints {
		h.stderr += line
	}
	_ = h.cmd.Wait() // the exit code says it
	return said{h.cmd.ProcessState.ExitCode(), steady(h.stdout + string(left)), steady(h.stderr)}
}

// stopLimit is how long an interrupted run may take to end.
const stopLimit = 8 * time.Second

func TestInterruptStopsAgentsAndWaits(t *testing.T) {
	w := newProject(t, "slow")
	cmd := w.retinue("run", "--output-format", "stream-json", "What is it?")
	h := overhear(t, cmd)
	h.until(`"type":"agent.started"`)
	begun := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	h.until(`"type":"turn.cancelled"`)
	stopped := time.Since(begun)
	got := h.rest()
	took := time.Since(begun)
	t.Logf("stopped %v after Ctrl-C", stopped.Round(time.Millisecond))
	measure.Most(t, "engine: an interrupted run ends", took, stopLimit)
	if got.Code != exitCancelled {
		t.Errorf("exit code %d\n%s\n%s", got.Code, got.Stdout, got.Stderr)
	}
}

func TestSecondInterruptLeaves(t *testing.T) {
	// Without a worker nobody stops the agents, so that only the second interrupt ends it.
	w := newProject(t, "slow")
	cmd := w.retinue("run", "--worker=false", "--output-format", "stream-json", "What is it?")
	h := overhear(t, cmd)
	h.until(`"type":"message.received"`)
	interrupt := func() {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	h.warned("stopping all agents") // two signals at once are one
	interrupt()
	got := h.rest()
	// After ten seconds a reason is offered for why nothing happens.
	got.Stderr = regexp.MustCompile(`(?m)^nothing has happened yet: .*\n`).ReplaceAllString(got.Stderr, "")
	want := "stopping all agents; Ctrl-C again to leave at once\n" +
		"left at once: the agents were told to stop, and do so by themselves\n" +
		"look at it later with: retinue run --continue ID \"How far did you get?\"\n"
	if got.Code != exitCancelled || got.Stderr != want {
		t.Errorf("exit code %d\n%s", got.Code, cmp.Diff(want, got.Stderr))
	}
}

func TestDemoInOneCommand(t *testing.T) {
	w := newProject(t, "answer")
	got := finish(t, w.retinue("run", "--demo", "Compare apples, pears and plums"))
	lines := slices.Sorted(strings.Lines(got.Stderr)) // sub-agents work side by side, in any order
	want := slices.Sorted(strings.Lines(demoLines))
	if diff := cmp.Diff(want, lines); diff != "" || got.Code != exitDone {
		t.Errorf("exit code %d, lines (-want +got):\n%s", got.Code, diff)
	}
	if diff := cmp.Diff(demoAnswer, got.Stdout); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

const demoAnswer = `Here is how apples, pears and plums compare, from what the three researchers found:

- apples: Apples keep for months in a cool cellar and ripen from August to October.
- pears: Pears ripen off the tree, from the inside out, and keep for a few weeks.
- plums: Plums are picked ripe, keep for days, and dry into prunes.
`

const demoLines = `DEMO: scripted model, no real model is called
main: I will have all three looked at, side by side.
main calls spawn_agents
main/1.0.0 researcher is asked: Research apples: read apples.md and say what matters.
main/1.0.1 researcher is asked: Research pears: read pears.md and say what matters.
main/1.0.2 researcher is asked: Research plums: read plums.md and say what matters.
main/1.0.0 researcher calls read_file apples.md
main/1.0.1 researcher calls read_file pears.md
main/1.0.2 researcher calls read_file plums.md
main/1.0.0 researcher calls submit_result
main/1.0.1 researcher calls submit_result
main/1.0.2 researcher calls submit_result
main/1.0.0 researcher is done: apples: Apples keep for months in a cool cellar and ripen from August to October.
main/1.0.1 researcher is done: pears: Pears ripen off the tree, from the inside out, and keep for a few weeks.
main/1.0.2 researcher is done: plums: Plums are picked ripe, keep for days, and dry into prunes.
main: Here is how apples, pears and plums compare, from what the three researchers found: - apples: Apples keep for months in…
completed in 1.0s, 3 sub-agents, N tokens, price not known; conversation ID
DEMO: scripted model, no real model is called
`

func TestApprovalsAreDeniedWhenNobodyIsThere(t *testing.T) {
	w := newProject(t, "answer")
	got := finish(t, w.retinue("run", "--demo", "--set", "permissions.ask=read_file", "Compare apples, pears and plums"))
	if got.Code != exitPerson || strings.Count(got.Stderr, "read_file was denied") != 3 {
		t.Errorf("exit code %d, want %d\n%s", got.Code, exitPerson, got.Stderr)
	}
}

func TestContinue(t *testing.T) {
	w := newProject(t, "answer")
	first := w.retinue("run", "--output-format", "json", "What is it?")
	out, err := first.Output()
	if err != nil {
		t.Fatal(err)
	}
	var told struct{ Conversation, Status, Result string }
	if err := json.Unmarshal(out, &told); err != nil || told.Result != "Forty-two." || told.Status != "completed" {
		t.Fatalf("%v\n%s", err, out)
	}
	got := finish(t, w.retinue("run", "--continue", told.Conversation, "Are you sure?"))
	if got.Code != exitDone || got.Stdout != "Forty-two.\n" {
		t.Errorf("%+v", got)
	}
	got = finish(t, w.retinue("run", "--continue", told.Conversation, "--role", "coder", "Are you sure?"))
	if got.Code != exitUsage {
		t.Errorf("a role for a conversation that has one: %+v", got)
	}
	got = finish(t, w.retinue("run", "--continue", "nothing", "Are you sure?"))
	if got.Code != exitFailed || !strings.Contains(got.Stderr, "there is no such conversation") {
		t.Errorf("a conversation that is not there: %+v", got)
	}
}
