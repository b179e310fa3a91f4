package main

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestTerminal asks a person on a terminal, which script(1) provides, and takes the answer.
func TestTerminal(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("no script(1) to make a terminal with")
	}
	w := newWorkshop(t, "asks")
	run := w.retinue("run", "Paint the shed")
	quoted := make([]string, len(run.Args))
	for i, arg := range run.Args {
		quoted[i] = "'" + arg + "'"
	}
	cmd := exec.CommandContext(t.Context(), script, "-qec", "stty cols 100 rows 24; "+strings.Join(quoted, " "), "/dev/null")
	cmd.Dir, cmd.Env = run.Dir, append(run.Env, "TERM=xterm", "NO_COLOR=1")
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended long since when all is well
	seen := watch(pipe, "your answer (empty: decline): ")
	if _, err := io.WriteString(keys, "2\n"); err != nil {
		t.Fatal(err)
	}
	seen += watch(pipe, "")
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{
		"general (main/1.0.0) asks: Which colour?\r\n  1  red\r\n  2  blue\r\n",
		"✓   general  completed",
		"The answer was: blue",
		"\x1b[J", // drawn in place
		"\r\nIt is painted.\r\n",
	} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not on the screen:\n%s", want, seen)
		}
	}
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
