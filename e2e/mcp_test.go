//go:build services

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/model/scripted"
)

const mcpModel = `
name: mcp
rules:
  - {name: not known, when: {role: main, text: 'has stopped to ask a question'}, reply: {calls: [{tool: relay_to_user, args: {message: 'Your taste.'}}]}}
  - {name: hello, when: {role: main, turn: 0, text: 'hello'}, reply: {text: 'Good day.'}}
  - {name: look, when: {role: main, turn: 0, text: 'word', tools: [mcp__words__lookup]}, reply: {calls: [{tool: mcp__words__lookup, args: {word: canary}}]}}
  - {name: looked, when: {role: main, turn: 1, result: 'a yellow bird'}, reply: {text: 'It is a bird.'}}
  - {name: inner, when: {role: main, turn: 0, text: 'inner', tools: [mcp__inner__start_task]}, reply: {calls: [{tool: mcp__inner__start_task, args: {message: 'Compare apples, pears and plums', wait_seconds: 90}}]}}
  - {name: inner done, when: {role: main, turn: 1, result: '"status": "completed"'}, reply: {text: 'The inner one is done.'}}
  - {name: send, when: {role: main, turn: 0, text: 'paint'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: 'Paint the canary.'}]}}]}}
  - {name: ask, when: {role: general, turn: 0}, reply: {calls: [{tool: ask_user, args: {question: 'Which colour?', options: [yellow, green]}}]}}
  - {name: report, when: {role: general, turn: 1, result: 'green'}, reply: {calls: [{tool: submit_result, args: {summary: 'It is green.'}}]}}
  - {name: painted, when: {role: main, turn: 1, result: 'It is green'}, reply: {text: 'Painted green.'}}
  - {name: slow, when: {role: main, turn: 0, text: 'think'}, reply: {delay: 60s, text: 'Never said.'}}
default: {text: 'I do not know what to do.'}
`

// guest is the whole program in a home of its own, run as an ordinary user.
type guest struct {
	program string
	dir     string
	env     []string
	account *syscall.Credential
}

// newGuest copies the program to where an ordinary user finds it: started by root, it would have no
// sandbox.
func newGuest(t *testing.T, model string) *guest {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "retinue-e2e-") //nolint:usetesting // t.TempDir is root's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	g := &guest{program: filepath.Join(dir, "retinue"), dir: dir}
	copyFile(t, program(t, "retinue-full", "engine"), g.program)
	settings := "providers: {demo: {kind: anthropic, base_url: '" + model + "', key: '{env:" + keyName + "}'}}\n" +
		"tiers: {fast: demo/fast, balanced: demo/balanced, strong: demo/strong}\n"
	write(t, filepath.Join(dir, "home/.config/retinue/retinue.yaml"), settings)
	write(t, filepath.Join(dir, "work/.retinue/retinue.yaml"), "tiers: {}\n")
	g.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), keyName + "=key", "WORDS=open-sesame"}
	if os.Geteuid() == 0 {
		g.lower(t)
	}
	return g
}

// lower gives everything to the user that tests with a sandbox run as.
func (g *guest) lower(t *testing.T) {
	t.Helper()
	account, err := user.Lookup("retinue-test")
	if err != nil {
		t.Fatalf("%v: make the user with: useradd --system --shell /usr/sbin/nologin retinue-test", err)
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		t.Fatal(err)
	}
	g.account = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := filepath.WalkDir(g.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	}); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}

func (g *guest) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, args...)
	cmd.Env, cmd.Dir = g.env, filepath.Join(g.dir, "work")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: g.account}
	return cmd
}

// run runs a command to its end and returns its output.
func (g *guest) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := g.command(t.Context(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("retinue %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// connect is a client of the program as an MCP server.
func (g *guest) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	cmd := g.command(context.WithoutCancel(t.Context()), "mcp", "serve")
	errs := &logs{}
	cmd.Stderr = errs
	session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 30 * time.Second}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close: %v\n%s", err, errs)
		}
	})
	return session
}

// task is what the program tells of one.
type task struct {
	Conversation string
	Status       string
	Result       string
	Seq          int64
	Events       []struct{ Type, Text string }
	Waiting      []struct{ Kind, Question, Tool, How string }
}

// ask calls a tool and wants a result.
func ask(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Content {
		if part, ok := c.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	return text, r.IsError
}

func askTask(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) task {
	t.Helper()
	text, failed := ask(t, s, tool, args)
	var out task
	if err := json.Unmarshal([]byte(text), &out); failed || err != nil {
		t.Fatalf("%s: %v %s", tool, err, text)
	}
	return out
}

// start begins a task and waits until it has ended or wants something.
func start(t *testing.T, s *mcp.ClientSession, message string) task {
	t.Helper()
	return askTask(t, s, "start_task", map[string]any{"message": message, "wait_seconds": 60})
}

// until follows a task to its end.
func until(t *testing.T, s *mcp.ClientSession, last task) task {
	t.Helper()
	for range 20 {
		if last.Status != "running" && last.Status != "waiting" {
			return last
		}
		last = askTask(t, s, "follow_task", map[string]any{"conversation": last.Conversation, "after": last.Seq, "wait_seconds": 10})
	}
	t.Fatalf("it does not end: %+v", last)
	return last
}

// wordServer is an MCP server over HTTP with one tool, for those who know the word.
func wordServer(t *testing.T) string {
	t.Helper()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "words", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "lookup", Description: "Looks a word up."},
			func(_ context.Context, _ *mcp.CallToolRequest, in struct {
				Word string `json:"word"`
			},
			) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Word + ": a yellow bird"}}}, nil, nil
			})
		return s
	}, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer open-sesame" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestMCP is a client of the whole program, whose agents are clients of two servers: one over HTTP,
// and the program itself once more, in the sandbox.
func TestMCP(t *testing.T) {
	t.Parallel()
	script, err := scripted.Parse("model.yaml", []byte(mcpModel))
	if err != nil {
		t.Fatal(err)
	}
	cast(script)
	g := newGuest(t, newProvider(t, script).url)
	g.run(t, "mcp", "add", "words", "--url", wordServer(t), "--header", "Authorization=Bearer {env:WORDS}")
	added := g.run(t, "mcp", "add", "inner", "--", "/run/retinue/init", "mcp", "serve", "--demo")
	if !strings.Contains(added, "approved 4 tools of inner") {
		t.Errorf("inner: %s", added)
	}
	s := g.connect(t)
	t.Run("tools", func(t *testing.T) { checkServed(t, s) })
	t.Run("result", func(t *testing.T) {
		if got := start(t, s, "Say hello"); got.Status != "completed" || got.Result != "Good day." {
			t.Errorf("%+v", got)
		}
	})
	t.Run("approval", func(t *testing.T) { checkApproval(t, g, s, "Look a word up", "mcp__words__lookup", "It is a bird.") })
	t.Run("sandboxed", func(t *testing.T) {
		checkApproval(t, g, s, "Ask the inner one", "mcp__inner__start_task", "The inner one is done.")
	})
	t.Run("question", func(t *testing.T) { checkQuestion(t, s) })
	t.Run("cancel", func(t *testing.T) {
		got := askTask(t, s, "start_task", map[string]any{"message": "Now think", "wait_seconds": 1})
		if got.Status != "running" {
			t.Fatalf("%+v", got)
		}
		if text, failed := ask(t, s, "cancel_task", map[string]any{"conversation": got.Conversation}); failed {
			t.Fatal(text)
		}
		if got = until(t, s, got); got.Status != "cancelled" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("budget", func(t *testing.T) {
		out, err := g.command(t.Context(), "mcp", "add", "poor", "--url", wordServer(t), "--header", "Authorization=Bearer {env:WORDS}",
			"--set", "sandbox.host_bytes=300").CombinedOutput()
		if want := "has had its 300 bytes"; !strings.Contains(string(out), want) {
			t.Errorf("%v: %s; want %q", err, out, want)
		}
	})
	t.Run("strangers", func(t *testing.T) {
		var run struct{ Conversation string }
		out, err := g.command(t.Context(), "run", "--headless", "--output-format", "json", "Say hello").Output()
		if err != nil || json.Unmarshal(out, &run) != nil || run.Conversation == "" {
			t.Fatalf("%v: %s", err, out)
		}
		for _, tool := range []string{"follow_task", "cancel_task"} {
			if text, failed := ask(t, s, tool, map[string]any{"conversation": run.Conversation}); !failed || !strings.Contains(text, "begun here") {
				t.Errorf("%s of a person's own conversation: %s", tool, text)
			}
		}
	})
}

// checkServed looks at what a model could do: decide an approval it cannot.
func checkServed(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	var names []string
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"answer", "cancel_task", "follow_task", "start_task"}, names); diff != "" {
		t.Error(diff)
	}
}

// checkApproval starts a task whose call of a tool waits for a person, who allows it.
func checkApproval(t *testing.T, g *guest, s *mcp.ClientSession, message, tool, result string) {
	t.Helper()
	got := start(t, s, message)
	if got.Status != "waiting" || len(got.Waiting) != 1 || got.Waiting[0].Kind != "approval" || got.Waiting[0].Tool != tool {
		t.Fatalf("%+v", got)
	}
	_, id, _ := strings.Cut(got.Waiting[0].How, "retinue inbox allow ")
	id, _, _ = strings.Cut(id, ",")
	g.run(t, "inbox", "allow", id)
	if got = until(t, s, got); got.Status != "completed" || got.Result != result {
		t.Errorf("%+v", got)
	}
}

// checkQuestion starts a task that asks, and answers.
func checkQuestion(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	got := start(t, s, "Now paint it")
	if got.Status != "waiting" || len(got.Waiting) != 1 || got.Waiting[0].Kind != "question" {
		t.Fatalf("%+v", got)
	}
	if text, failed := ask(t, s, "answer", map[string]any{"conversation": got.Conversation, "question": "nonsense", "text": "x"}); !failed {
		t.Error(text)
	}
	if text, failed := ask(t, s, "answer", map[string]any{
		"conversation": got.Conversation, "question": got.Waiting[0].Question, "text": "2",
	}); failed {
		t.Fatal(text)
	}
	before := got.Seq
	if got = until(t, s, got); got.Status != "completed" || got.Result != "Painted green." {
		t.Errorf("%+v", got)
	}
	if len(got.Events) == 0 || got.Seq <= before {
		t.Errorf("no news after %d: %+v", before, got)
	}
}
