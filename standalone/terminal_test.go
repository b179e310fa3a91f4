package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// terminal is a command on a terminal, which script(1) provides.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys io.Writer
	out  io.Reader
	seen string
}

func onTerminal(t *testing.T, run *exec.Cmd) *terminal {
	t.Helper()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("no script(1) to make a terminal with")
	}
	quoted := make([]string, len(run.Args))
	for i, arg := range run.Args {
		quoted[i] = "'" + arg + "'"
	}
	cmd := exec.CommandContext(t.Context(), script, "-qec", "stty cols 100 rows 24; "+strings.Join(quoted, " "), "/dev/null")
	cmd.Dir, cmd.Env = run.Dir, append(run.Env, "TERM=xterm", "NO_COLOR=1")
	tty := &terminal{t: t, cmd: cmd}
	if tty.keys, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if tty.out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended long since when all is well
	return tty
}

// until reads what is written up to a text.
func (tty *terminal) until(text string) { tty.seen += watch(tty.out, text) }

// end waits for the end, and wants texts to have been on the screen.
func (tty *terminal) end(wanted ...string) {
	tty.t.Helper()
	tty.until("")
	if err := tty.cmd.Wait(); err != nil {
		tty.t.Errorf("it ended with %v", err)
	}
	for _, want := range wanted {
		if !strings.Contains(tty.seen, want) {
			tty.t.Errorf("%q is not on the screen:\n%s", want, tty.seen)
		}
	}
}

// TestTerminal asks a person on a terminal and takes the answer.
func TestTerminal(t *testing.T) {
	tty := onTerminal(t, newProject(t, "asks").retinue("run", "Paint the shed"))
	tty.until("your answer (empty: decline): ")
	if _, err := io.WriteString(tty.keys, "2\n"); err != nil {
		t.Fatal(err)
	}
	tty.end(
		"general (main/1.0.0) asks: Which colour?\r\n  1  red\r\n  2  blue\r\n",
		"✓   general  completed",
		"The answer was: blue",
		"\x1b[J", // drawn in place
		"\r\nIt is painted.\r\n",
	)
}

// inboxID is how an item of the inbox begins.
var inboxID = regexp.MustCompile(`(?m)^[0-9a-f]{12}`)

// TestInboxAnswers answers from one process what another asks.
func TestInboxAnswers(t *testing.T) {
	w := newProject(t, "asks")
	tty := onTerminal(t, w.retinue("run", "Paint the shed"))
	tty.until("your answer (empty: decline): ")
	list := output(t, w.retinue("inbox"))
	if !strings.Contains(list, "  general (main/1.0.0), conversation ") ||
		!strings.Contains(list, "  asks: Which colour?\n    1  red\n    2  blue\n") {
		t.Errorf("the inbox:\n%s", list)
	}
	id := inboxID.FindString(list)
	if got := finish(t, w.retinue("inbox", "allow", id)); got.Code != exitUsage || !strings.Contains(got.Stderr, "is a question") {
		t.Errorf("a question was allowed: %+v", got)
	}
	if got := finish(t, w.retinue("inbox", "answer", id[:4], "2")); got.Code != 0 {
		t.Errorf("%+v", got)
	}
	tty.end("The answer was: blue", "that has been settled meanwhile")
	if got := finish(t, w.retinue("inbox", "answer", id, "1")); got.Code != exitFailed ||
		!strings.Contains(got.Stderr, "nothing waits under") {
		t.Errorf("a question was answered twice: %+v", got)
	}
}

// TestInboxAllows approves a call for a whole conversation, from another process: the next such
// call is not asked about.
func TestInboxAllows(t *testing.T) {
	w := newProject(t, "reads")
	if err := os.WriteFile(filepath.Join(w.dir, "work", "note.md"), []byte("Water the roses.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tty := onTerminal(t, w.retinue("run", "--set", "permissions.ask=read_file", "Read the note"))
	tty.until("[y]es, [a]lways read_file(note.md) in this conversation, [n]o: ")
	list := output(t, w.retinue("inbox"))
	if !strings.Contains(list, "  wants to call read_file {\"path\":\"note.md\"}\n  \"always\" would cover: read_file(note.md)\n") {
		t.Errorf("the inbox:\n%s", list)
	}
	if got := finish(t, w.retinue("inbox", "allow", inboxID.FindString(list), "--scope", "conversation")); got.Code != 0 {
		t.Errorf("%+v", got)
	}
	tty.end("that has been settled meanwhile", "I have read it twice: ", "Water the roses.")
	if n := strings.Count(tty.seen, "[y]es, [a]lways"); n != 1 {
		t.Errorf("asked %d times:\n%s", n, tty.seen)
	}
	if got := output(t, w.retinue("inbox")); got != "Nothing needs you.\n" {
		t.Errorf("the inbox:\n%s", got)
	}
}

// output is what a command prints, as it is.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// watch reads until a text has come, or to the end.
func watch(from io.Reader, until string) string {
	var seen bytes.Buffer
	reader := bufio.NewReaderSize(from, 1)
	for until == "" || !strings.Contains(seen.String(), until) {
		b, err := reader.ReadByte()
		if err != nil {
			break // a terminal whose program has ended reports an error
		}
		seen.WriteByte(b)
	}
	return seen.String()
}
