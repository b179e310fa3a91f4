package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ready is the last line of what up says once it is ready.
const ready = "Ctrl-C ends it"

// resultOf reads what a run printed as JSON.
func resultOf(t *testing.T, out []byte) (told struct{ Conversation, Status, Result string }) {
	t.Helper()
	if err := json.Unmarshal(out, &told); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return told
}

// lastLine is the line that an output ends with: in stream-json, the result.
func lastLine(out string) []byte {
	out = strings.TrimSpace(out)
	return []byte(out[strings.LastIndexByte(out, '\n')+1:])
}

// TestCommandsGoThroughTheServer asks and answers through a server that runs, on a terminal and
// from another process. People see the same as without one.
func TestCommandsGoThroughTheServer(t *testing.T) {
	w := newProject(t, "asks")
	waiting(t, w.retinue("up"))
	tty := onTerminal(t, w.retinue("run", "Paint the shed"))
	tty.until("your answer (empty: decline): ")
	list := output(t, w.retinue("inbox"))
	if !strings.Contains(list, "  asks: Which colour?\n    1  red\n    2  blue\n") {
		t.Errorf("the inbox:\n%s", list)
	}
	if got := finish(t, w.retinue("inbox", "answer", inboxID.FindString(list)[:4], "2")); got.Code != 0 {
		t.Errorf("%+v", got)
	}
	tty.end("The answer was: blue", "that has been settled meanwhile", "✓   general  completed", "\r\nIt is painted.\r\n")
	if got := output(t, w.retinue("inbox")); got != "Nothing needs you.\n" {
		t.Errorf("the inbox:\n%s", got)
	}
}

// TestRunGoesOnWhenTheServerIsBack kills the server that a run follows, and starts it again.
func TestRunGoesOnWhenTheServerIsBack(t *testing.T) {
	w := newProject(t, "unhurried")
	up := w.retinue("up")
	ended := waiting(t, up)
	run := overhear(t, w.retinue("run", "--output-format", "stream-json", "What is it?"))
	run.until(`"type":"agent.started"`)
	if err := up.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended()
	run.warned("start 'retinue up' again and it goes on")
	waiting(t, w.retinue("up"))
	got := run.rest()
	told := resultOf(t, lastLine(got.Stdout))
	if got.Code != exitDone || told.Result != "In good time." || told.Status != "completed" {
		t.Errorf("%+v\n%+v", told, got)
	}
}

// TestServerByAddress goes to a server by its address, with a key that is right, wrong, or missing.
func TestServerByAddress(t *testing.T) {
	w := newProject(t, "answer")
	up := w.retinue("up")
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Process.Kill(); _ = up.Wait() }) // it has proved its point
	found := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#code=(\S+)`).FindStringSubmatch(watch(out, ready))
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if found == nil {
		t.Fatal("up does not say where it is")
	}
	url, file := found[1], filepath.Join(w.dir, "data", "api.token")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(text))
	link := regexp.MustCompile(`^` + regexp.QuoteMeta(url) + `/#code=(\S+)\n$`).FindStringSubmatch(output(t, w.retinue("link")))
	if link == nil || link[1] == found[2] {
		t.Errorf("'retinue link' printed %q", link)
	}
	with := func(key string, args ...string) *exec.Cmd {
		cmd := w.retinue(args...)
		cmd.Env = append(cmd.Env, "RETINUE_API_KEY="+key)
		return cmd
	}
	told := resultOf(t, []byte(output(t, with(token, "run", "--server", url, "--output-format", "json", "What is it?"))))
	if told.Result != "Forty-two." {
		t.Errorf("%+v", told)
	}
	got := finish(t, w.retinue("run", "--server", url, "--key-file", file, "--continue", told.Conversation, "Are you sure?"))
	if got.Code != exitDone || got.Stdout != "Forty-two.\n" || strings.Contains(got.Stderr, "warning") {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		cmd  *exec.Cmd
		code int
		want string
	}{
		{with("rtl_of_somebody_else", "inbox", "--server", url), exitFailed, "refuses the key"},
		{with("", "inbox", "--server", url), exitUsage, "RETINUE_API_KEY"},
		{with(token, "inbox", "--server", "http://192.0.2.1"), exitUsage, "use https"},
		{with(token, "inbox", "--server", "http://127.0.0.1:1"), exitFailed, "does not answer"},
		{with(token, "run", "--server", url, "--demo", "What is it?"), exitUsage, "leave it out with --server"},
		{w.retinue("inbox", "--demo"), exitFailed, "start 'retinue up --demo'"},
	} {
		if got := finish(t, c.cmd); got.Code != c.code || !strings.Contains(got.Stderr, c.want) || strings.Contains(got.Stderr, token) {
			t.Errorf("got %+v, want code %d and %q", got, c.code, c.want)
		}
	}
}
