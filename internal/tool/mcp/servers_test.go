package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
)

// field is a workspace with servers.
type field struct {
	*Servers
	work string
}

// newField makes a workspace outside of /tmp, of which every sandbox has its own.
func newField(t *testing.T, entries ...Entry) field {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "retinue-test-") //nolint:usetesting // t.TempDir lies in /tmp
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.Open(t.Context(), sandbox.Options{Tier: testTier})
	if err != nil {
		t.Fatal(err)
	}
	f := field{work: work, Servers: New(Options{
		Workspace: work, Box: func(context.Context) (*sandbox.Box, error) { return box, nil },
		Pins:  OpenPins(filepath.Join(dir, "mcp.lock.json")),
		start: time.Minute, ping: time.Minute, own: ownEnd, // a busy machine takes its time to start a program
	})}
	f.Use(entries)
	t.Cleanup(func() {
		f.Close()
		for _, name := range []string{".mcp.json", ".git", ".claude"} {
			if _, err := os.Lstat(filepath.Join(work, name)); err == nil {
				t.Errorf("a server left %s behind in the workspace", name)
			}
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return f
}

// act is a server that is our own program.
func act(name string) Entry {
	return Entry{Name: "s", Scope: "user", Command: ourselves(), Args: []Text{Plain(actWord), Plain(name)}}
}

func (f field) look(t *testing.T) Report {
	t.Helper()
	r, err := f.Look(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (f field) approve(t *testing.T) {
	t.Helper()
	if err := f.Approve(f.look(t)); err != nil {
		t.Fatal(err)
	}
}

func (f field) set(t *testing.T) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tool.Options{}, f.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (f field) names() []string {
	var out []string
	for _, each := range f.Tools() {
		out = append(out, strings.TrimPrefix(each.Definition().Name, "mcp__s__"))
	}
	return out
}

// call calls a tool of the set with a text and wants its result.
func call(ctx context.Context, t *testing.T, set *tool.Set, name, text string) tool.Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	r, err := set.Run(ctx, tool.Call{ID: "1.0", Tool: "mcp__s__" + name, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func want(t *testing.T, got tool.Result, end tool.End, text string) {
	t.Helper()
	if diff := cmp.Diff(tool.Result{Text: text, End: end}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsOfferedThatNobodyApproved(t *testing.T) {
	f := newField(t, act("honest"))
	if got := f.names(); got != nil {
		t.Errorf("offered: %v", got)
	}
	r := f.look(t)
	for _, st := range r.Tools {
		if st.State != StateNew {
			t.Errorf("%s is %s", st.Name, st.State)
		}
	}
	if got := f.names(); got != nil {
		t.Errorf("offered after a look: %v", got)
	}
	before := f.Generation()
	f.approve(t)
	if f.Generation() == before {
		t.Error("nobody is told that there are tools now")
	}
	if diff := cmp.Diff([]string{"die", "echo", "environment", "fail", "life", "picture", "turn", "wait"}, f.names()); diff != "" {
		t.Error(diff)
	}
}

func TestHintsChangeNothing(t *testing.T) {
	f := newField(t, act("honest"))
	f.approve(t)
	for _, each := range f.Tools() {
		d := each.Definition()
		if d.Class != chat.ClassOnce || !d.Writes || !d.Network {
			t.Errorf("%s: %s, writes %v, network %v", d.Name, d.Class, d.Writes, d.Network)
		}
	}
}

func TestCalls(t *testing.T) {
	f := newField(t, act("honest"))
	f.approve(t)
	set := f.set(t)
	want(t, call(t.Context(), t, set, "echo", "hello"), tool.EndOK, "hello")
	want(t, call(t.Context(), t, set, "fail", "luck"), tool.EndFailed, "no luck today")
	got := call(t.Context(), t, set, "picture", "")
	if diff := cmp.Diff(tool.Result{
		End: tool.EndOK, Images: []tool.Image{{Type: "image/png", Data: []byte("png")}},
		Text: "[a picture of type \"image/tiff\" and 4 bytes is left out]\n[file:///a.txt]\ninside\n[b: file:///b.txt] ",
	}, got); diff != "" {
		t.Error(diff)
	}
	r, err := set.Run(t.Context(), tool.Call{Tool: "mcp__s__echo", Args: json.RawMessage(`{"txt":1}`)})
	if err != nil || r.End != tool.EndFailed || !strings.Contains(r.Text, "it takes text (string, required)") {
		t.Errorf("arguments that do not fit: %v %v", r, err)
	}
}

func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	e := act("honest")
	e.Env = map[string]Text{"TOKEN": {Reference: "{env:TOKEN}", Reveal: func() (string, []string, error) {
		return "canary-7781", []string{"canary-7781"}, nil
	}}}
	if testing.CoverMode() != "" { // without it, the last words of the server would be about coverage
		e.Env["GOCOVERDIR"] = Text{Reveal: func() (string, []string, error) { return t.TempDir(), nil, nil }}
	}
	f := newField(t, e)
	f.links["s"].options.own = time.Minute
	f.approve(t)
	set := f.set(t)
	first := call(t.Context(), t, set, "life", "")
	if again := call(t.Context(), t, set, "life", ""); again.Text != first.Text {
		t.Error("each call has a server of its own")
	}
	want(t, call(t.Context(), t, set, "die", ""), tool.EndFailed,
		"server s was lost during the call, so nobody knows whether it was carried out: it ended with code 3; "+
			"it said: my last words, with [secret]. It is started again at the next call.")
	second := call(t.Context(), t, set, "life", "")
	if second.End != tool.EndOK || second.Text == first.Text {
		t.Errorf("after its death: %v, before: %v", second, first)
	}
	if got := call(t.Context(), t, set, "environment", ""); strings.Contains(got.Text, "canary") ||
		!strings.Contains(got.Text, "TOKEN=[secret]") || strings.Contains(got.Text, "TEST_RETINUE") {
		t.Errorf("the environment:\n%s", got.Text)
	}
}

func TestACancelReachesTheServer(t *testing.T) {
	f := newField(t, act("honest"))
	f.approve(t)
	set := f.set(t)
	first := call(t.Context(), t, set, "life", "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		f.await(t, "a.begun")
		cancel()
	}()
	_, err := set.Run(ctx, tool.Call{Tool: "mcp__s__wait", Args: json.RawMessage(`{"text":"a"}`)})
	if err == nil {
		t.Error("a cancelled call has a result")
	}
	f.await(t, "a.cancelled")
	if got := call(t.Context(), t, set, "life", ""); got.Text != first.Text {
		t.Error("the server was ended by a cancel that it obeyed")
	}
}

// await waits for a file in the workspace.
func (f field) await(t *testing.T, name string) {
	t.Helper()
	for range 3000 {
		if _, err := os.Stat(filepath.Join(f.work, name)); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s never came", name)
}

func TestAHungServerIsEnded(t *testing.T) {
	f := newField(t, act("hung"))
	f.links["s"].options.ping = time.Second
	f.approve(t)
	set := f.set(t)
	s, err := f.links["s"].connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := set.Run(ctx, tool.Call{Tool: "mcp__s__t", Args: json.RawMessage(`{}`)}); err == nil {
		t.Error("a call that was given up has a result")
	}
	measure.Most(t, "mcp: a call to a hung server that was given up comes back", time.Since(began), time.Second)
	select {
	case <-s.gone:
	case <-time.After(time.Minute):
		t.Error("the server is still there")
	}
}

// TestACallDoesNotWaitForAServerThatDoesNotRead sends more than fits into a pipe.
func TestACallDoesNotWaitForAServerThatDoesNotRead(t *testing.T) {
	f := newField(t, act("hung"))
	f.approve(t)
	set := f.set(t)
	args, err := json.Marshal(map[string]string{"text": strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	first, cancel := context.WithCancel(t.Context())
	before := make(chan struct{})
	go func() {
		defer close(before)
		_, _ = set.Run(first, tool.Call{Tool: "mcp__s__t", Args: json.RawMessage(`{}`)}) // it hangs
	}()
	defer func() { cancel(); <-before }()
	time.Sleep(300 * time.Millisecond)
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	began := time.Now()
	if _, err := set.Run(ctx, tool.Call{Tool: "mcp__s__t", Args: args}); err == nil {
		t.Error("a call that was given up has a result")
	}
	measure.Most(t, "mcp: a call to a server that does not read comes back when it is given up", time.Since(began), 800*time.Millisecond)
	select {
	case <-before:
		t.Error("the call before it ended too")
	default:
	}
}

func TestServersThatAreNone(t *testing.T) {
	for name, reason := range map[string]string{
		"silent":  "server s does not answer as an MCP server: no answer came in time (it has no network: if",
		"deaf":    "server s does not answer as an MCP server: no answer came in time (it has no network: if",
		"noise":   "server s does not answer as an MCP server: ",
		"garbage": "server s does not answer as an MCP server: ",
		"endless": "server s does not answer as an MCP server: ",
		"missing": "server s does not answer as an MCP server: it ended with code 2; it said: there is no act missing",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newField(t, act(name))
			if o := &f.links["s"].options; name == "missing" {
				o.own = time.Minute
			} else {
				o.start = 3 * time.Second
			}
			began := time.Now()
			_, err := f.Look(t.Context(), "s")
			measure.Most(t, "mcp: a server that is none is seen through, "+name, time.Since(began), 10*time.Second)
			if err == nil || !strings.HasPrefix(words(err), reason) {
				t.Errorf("got %v, want %s", err, reason)
			}
		})
	}
}

// TestAServerThatStartsIsEndedToo closes while nobody knows yet whether the server will answer.
func TestAServerThatStartsIsEndedToo(t *testing.T) {
	f := newField(t, act("silent"))
	starts := func() bool {
		l := f.links["s"]
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.dialing != nil
	}
	looked := make(chan error, 1)
	go func() {
		_, err := f.Look(t.Context(), "s")
		looked <- err
	}()
	for end := time.Now().Add(30 * time.Second); !starts(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server was never started")
		}
	}
	time.Sleep(300 * time.Millisecond) // for its program to run
	began := time.Now()
	f.Close() // the workspace is checked when the test ends
	if err := <-looked; err == nil {
		t.Error("a server that was ended answered")
	}
	measure.Most(t, "mcp: a server that starts is ended", time.Since(began), 4*time.Second)
}

func TestAGreetingIsNoMessage(t *testing.T) {
	f := newField(t, act("greeting"))
	f.approve(t)
	if diff := cmp.Diff([]string{"t"}, f.names()); diff != "" {
		t.Error(diff)
	}
}

func TestAChangeIsHeardWhileTheServerStarts(t *testing.T) {
	f := newField(t, act("hasty"))
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		tools := f.look(t).Tools
		if len(tools) == 1 && tools[0].Name == "new" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server has other tools now than %v", tools)
		}
	}
}

func TestListsAreBounded(t *testing.T) {
	many := newField(t, act("many"))
	r := many.look(t)
	if len(r.Tools) != mostTools || r.Omitted != 10_000-mostTools {
		t.Errorf("%d tools, %d omitted", len(r.Tools), r.Omitted)
	}
	pages := newField(t, act("pages"))
	if r := pages.look(t); len(r.Tools) > mostTools {
		t.Errorf("%d tools of a list without end", len(r.Tools))
	}
	huge := newField(t, act("huge"))
	r = huge.look(t)
	if long := r.Tools[0]; len(long.Description) > longestDescription+3 || long.State != StateNew {
		t.Errorf("a description of %d bytes, %s", len(long.Description), long.State)
	}
	if wide := r.Tools[1]; wide.State != StateUnusable || wide.Problem != "its schema is larger than 64 KiB" {
		t.Errorf("a wide schema is %s: %s", wide.State, wide.Problem)
	}
}

func TestWhatNobodySeesIsNotOffered(t *testing.T) {
	f := newField(t, act("hidden"))
	r := f.look(t)
	if got := r.Tools[0].Description; got != "Adds.1 Done" {
		t.Errorf("%q", got)
	}
	if got := string(r.Tools[0].Schema); got != `{"properties":{"x":{"description":"input","type":"string"}},"type":"object"}` {
		t.Error(got)
	}
	for i, problem := range []string{"", "a name in its schema has hidden characters", "its name is too long or has hidden characters"} {
		if r.Tools[i].Problem != problem {
			t.Errorf("%d: %q", i, r.Tools[i].Problem)
		}
	}
}

func TestTwoToolsNeverBecomeOne(t *testing.T) {
	f := newField(t, act("collide"))
	f.approve(t)
	f.set(t) // which refuses names that are taken
	long := toolName("s", strings.Repeat("n", 100))
	if len(long) != longestName {
		t.Errorf("%s has %d letters", long, len(long))
	}
	if diff := cmp.Diff([]string{
		"a_b", "a_b_" + digest("a/b")[:8], "x", "a_b_" + digest("a.b")[:8], strings.TrimPrefix(long, "mcp__s__"),
	}, f.names()[:5]); diff != "" {
		t.Error(diff)
	}
}

func TestSchemasThatWouldBreakUs(t *testing.T) {
	f := newField(t, act("schemas"))
	got := map[string]string{}
	for _, st := range f.look(t).Tools {
		got[st.Name] = st.Problem
	}
	if diff := cmp.Diff(map[string]string{
		"itself":    "its schema refers to itself",
		"root":      `its schema refers to "#": only references inside of it can be followed`,
		"elsewhere": `its schema refers to "https://example.com/s.json": only references inside of it can be followed`,
		"bomb":      "its schema is too large once its references are written out",
		"list":      "tool mcp__s__list: the schema must be of type object",
		"none":      "it has no schema",
		"fine":      "",
	}, got); diff != "" {
		t.Error(diff)
	}
}
