package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/cli/run"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// terminal is what a person sees, and the person: each time a text appears, the next line is typed.
type terminal struct {
	mu    sync.Mutex
	shown bytes.Buffer
	// seen is how much of it the person has read.
	seen  int
	lines []reaction
	in    *io.PipeWriter
}

// reaction is what a person does when a text appears.
type reaction struct {
	to string
	do func(in io.Writer)
}

func types(line string) func(io.Writer) {
	return func(in io.Writer) { _, _ = io.WriteString(in, line+"\n") } // nobody reads after the end
}

// Write implements io.Writer.
func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.Write(p)
	if len(s.lines) > 0 && strings.Contains(s.shown.String()[s.seen:], s.lines[0].to) {
		s.seen = s.shown.Len()
		go s.lines[0].do(s.in)
		s.lines = s.lines[1:]
	}
	return len(p), nil
}

func (s *terminal) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// loop is a message for a server, with a person if there are reactions.
func loop(t *testing.T, address string, reactions ...reaction) (*run.Loop, *bytes.Buffer, *terminal) {
	t.Helper()
	in, typed := io.Pipe()
	t.Cleanup(func() { _ = typed.Close() })
	out, screen := &bytes.Buffer{}, &terminal{lines: reactions, in: typed}
	return &run.Loop{
		Server: &remote.Server{Client: &client.Client{BaseURL: address, Key: apitest.Token, Attempts: 1}, Address: address},
		Named:  address, Format: run.Text, Headless: len(reactions) == 0, Began: time.Now(), In: in, Out: out, Err: screen,
		Opening: wire.NewConversation{Title: "t", Headless: len(reactions) == 0},
	}, out, screen
}

// ended runs a loop to its end, and wants an exit code.
func ended(t *testing.T, l *run.Loop, prompt string, code int) run.Ending {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	end, err := l.Run(ctx, prompt)
	if err != nil {
		t.Fatal(err)
	}
	if end.Code != code {
		t.Errorf("the exit code of %q is %d, want %d", prompt, end.Code, code)
	}
	own, failed := errors.AsType[*exit.Error](end.Exit())
	if failed != (code != exit.OK) || failed && own.Code != code {
		t.Errorf("it exits with %v, want %d", end.Exit(), code)
	}
	return end
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// TestTheAnswerIsPrinted shows the answer on the standard output and all else beside it.
func TestTheAnswerIsPrinted(t *testing.T) {
	l, out, screen := loop(t, apitest.StartPlaying(t, nil).URL)
	ended(t, l, "Look", exit.OK)
	if out.String() != "It is so.\n" {
		t.Errorf("the answer is %q", out)
	}
	contains(t, screen.String(), "main: It is so.", "completed in", "conversation "+l.Conversation)
	again, out, _ := loop(t, l.Named)
	again.Conversation, again.Opening = l.Conversation, wire.NewConversation{}
	ended(t, again, "Look again", exit.OK)
	if again.Conversation != l.Conversation || out.String() != "It is so.\n" {
		t.Errorf("%s goes on as %s: %q", l.Conversation, again.Conversation, out)
	}
}

// TestPrograms shows what programs are told: one object, or one on each line as it happens.
func TestPrograms(t *testing.T) {
	address := apitest.StartPlaying(t, nil).URL
	type result struct {
		Type, Conversation, Status, Result string
		Code                               int `json:"exit_code"`
	}
	l, out, _ := loop(t, address)
	l.Format = run.JSON
	ended(t, l, "Look", exit.OK)
	var got result
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != (result{"result", l.Conversation, "completed", "It is so.", 0}) {
		t.Errorf("%v: %+v", err, got)
	}
	l, out, _ = loop(t, address)
	l.Format = run.Stream
	ended(t, l, "fail", exit.Failed)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil || got.Status != "failed" || got.Code != exit.Failed {
		t.Errorf("%v: the last line is %+v", err, got)
	}
	contains(t, lines[0], `"type":"message.received"`, `"seq":`)
}

// TestCodes shows the exit codes of turns that do not end well.
func TestCodes(t *testing.T) {
	address := apitest.StartPlaying(t, nil).URL
	for _, c := range []struct {
		prompt, shown string
		code          int
	}{
		{"fail", "server_error", exit.Failed},
		{"limit", "a limit was reached: raise", exit.Limit},
		{"ask", "a person was needed and nobody was there", exit.Person},
		{"shell", "a person was needed and nobody was there", exit.Person},
	} {
		l, _, screen := loop(t, address)
		ended(t, l, c.prompt, c.code)
		contains(t, screen.String(), c.shown)
	}
}

// TestAPersonAnswers shows questions and approvals before a person, who decides them.
func TestAPersonAnswers(t *testing.T) {
	s := apitest.StartPlaying(t, nil)
	for _, c := range []struct {
		prompt, want string
		reactions    []reaction
	}{
		{"ask", "You said blue\n", []reaction{{"your answer", types("2")}}},
		{"ask", "You said green\n", []reaction{{"Which colour?\n  1  red\n  2  blue\n", types("green")}}},
		{"ask", "You said I will not answer this.\n", []reaction{{"your answer", types("")}}},
		{"shell", "It was allowed once.\n", []reaction{{"[y]es", types("perhaps")}, {"[a]lways shell(rm *)", types("y")}}},
		{"shell", "It was allowed chat.\n", []reaction{{"wants to call shell", types("always")}}},
		{"shell", "It was denied.\n", []reaction{{"[n]o", types("n")}}},
	} {
		l, out, screen := loop(t, s.URL, c.reactions...)
		ended(t, l, c.prompt, exit.OK)
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q:\n%s", c.prompt, out, c.want, screen)
		}
	}
}

// TestSettledElsewhere shows that a person is told when another has answered.
func TestSettledElsewhere(t *testing.T) {
	s := apitest.StartPlaying(t, nil)
	var l *run.Loop
	answered := make(chan struct{})
	l, out, screen := loop(t, s.URL, reaction{"your answer", func(io.Writer) {
		defer close(answered)
		items, err := l.Server.Waits(context.Background())
		if err != nil || len(items) != 1 {
			t.Errorf("%v: %v", items, err)
			return
		}
		if err := l.Server.Answer(context.Background(), items[0].Conversation, items[0].Question, "red"); err != nil {
			t.Error(err)
		}
	}})
	ended(t, l, "ask", exit.OK)
	<-answered // the other's command may still wait for its own answer
	contains(t, screen.String(), "that has been settled meanwhile")
	if out.String() != "You said red\n" {
		t.Errorf("%q", out)
	}
}

// TestCtrlC stops the agents and waits for them.
func TestCtrlC(t *testing.T) {
	l, _, screen := loop(t, apitest.StartPlaying(t, nil).URL)
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	l.Signals = signals
	if end := ended(t, l, "wait", exit.Cancelled); end.Left {
		t.Error("the agents were not waited for")
	}
	contains(t, screen.String(), "stopping all agents; Ctrl-C again to leave at once", "cancelled in")
}

// deaf is told to stop and does not.
type deaf struct{ api.Commands }

// Cancel implements api.Commands.
func (deaf) Cancel(context.Context, journal.Ref, string, string, string) error { return nil }

// TestCtrlCTwice leaves agents that do not stop.
func TestCtrlCTwice(t *testing.T) {
	s := apitest.StartPlaying(t, func(o *api.Options) { o.Commands = deaf{o.Commands} })
	l, _, screen := loop(t, s.URL)
	signals := make(chan os.Signal, 2)
	signals <- syscall.SIGINT
	signals <- syscall.SIGINT
	l.Signals = signals
	if end := ended(t, l, "wait", exit.Cancelled); !end.Left {
		t.Error("nobody left")
	}
	contains(t, screen.String(), "left at once: the agents were told to stop",
		"look at it later with: retinue run --server "+s.URL+" --continue "+l.Conversation)
}

// TestTheServerGoesAway cuts the stream and refuses every new one for a while.
func TestTheServerGoesAway(t *testing.T) {
	s := apitest.StartPlaying(t, nil)
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	var gone atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	var l *run.Loop
	l, out, screen := loop(t, front.URL, reaction{"your answer", func(io.Writer) {
		gone.Store(true)
		front.CloseClientConnections()
	}}, reaction{"the server cannot be reached just now, trying again", func(io.Writer) {
		away := &remote.Server{Client: &client.Client{BaseURL: s.URL, Key: apitest.Token}}
		items, err := away.Waits(context.Background())
		if err != nil || len(items) != 1 {
			t.Errorf("%v: %v", items, err)
			return
		}
		if err := away.Answer(context.Background(), items[0].Conversation, items[0].Question, "red"); err != nil {
			t.Error(err)
		}
		gone.Store(false)
	}})
	ended(t, l, "ask", exit.OK)
	if out.String() != "You said red\n" {
		t.Errorf("%q\n%s", out, screen)
	}
}

// TestARunThatCannotBegin says why.
func TestARunThatCannotBegin(t *testing.T) {
	s := apitest.StartPlaying(t, nil)
	l, _, _ := loop(t, s.URL)
	l.Server.Key = "rtl_of_another"
	_, err := l.Run(t.Context(), "Look")
	if chat.CodeOf(err) != chat.CodeDenied || !strings.Contains(err.Error(), "refuses the key") {
		t.Errorf("got %v", err)
	}
	l, _, _ = loop(t, s.URL)
	l.Conversation = "none"
	if _, err = l.Run(t.Context(), "Look"); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("got %v", err)
	}
	l, _, _ = loop(t, s.URL)
	ended(t, l, "Look", exit.OK)
	l.Workspace = "elsewhere"
	_, err = l.Run(t.Context(), "Look")
	if own, ok := errors.AsType[*exit.Error](err); !ok || own.Code != exit.Usage || !strings.Contains(err.Error(), "add --workspace") {
		t.Errorf("got %v", err)
	}
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	l, _, _ = loop(t, nobody.URL)
	if _, err = l.Run(t.Context(), "Look"); chat.CodeOf(err) != chat.CodeUnavailable || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
}
