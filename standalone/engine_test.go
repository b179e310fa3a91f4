package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram makes this binary the program instead of its test.
const asProgram = "AS_RETINUE_PROGRAM"

// programTimeout ends a program that should have ended by itself. It may have to compile Go's
// standard library.
const programTimeout = 15 * time.Minute

func TestMain(m *testing.M) {
	// The first process of a sandbox is the program too, and has no such variable.
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == "sandbox-init" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), programTimeout)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func TestTheCommandsOfRetinueAreThere(t *testing.T) {
	out, err := program(t, "--help").Output()
	for _, name := range []string{"config", "doctor", "engine", "mcp", "migrate", "roles", "run", "scripted", "up", "version", "worker"} {
		if !regexp.MustCompile(`(?m)^  ` + name + ` `).Match(out) {
			t.Errorf("no command %s: %v\n%s", name, err, out)
		}
	}
}

func TestEngineCommand(t *testing.T) {
	folder := t.TempDir()
	file, addressFile := filepath.Join(folder, "engine.db"), filepath.Join(folder, "address")
	credentials := filepath.Join(folder, "tls")
	engine := program(t, "engine", "--sqlite", file, "--address-file", addressFile, "--credentials", credentials)
	var stderr bytes.Buffer
	engine.Stderr = &stderr
	pipe, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Process.Kill() }) // it has ended long since when all is well
	stdout := bufio.NewReader(pipe)
	line, err := stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("it did not come up: %v\n%s", err, &stderr)
	}
	address, err := os.ReadFile(addressFile)
	if want := "engine: ready at " + strings.TrimSpace(string(address)) + ", sqlite " + file + "\n"; line != want {
		t.Fatalf("got %q, want %q; %v\n%s", line, want, err, &stderr)
	}

	onlyLoopback(t, engine.Process.Pid)

	refused, err := program(t, "engine", "--sqlite", file, "--credentials", credentials).CombinedOutput()
	want := "retinue: lock " + file + ": another engine runs on it: stop that one, or name another store\n"
	if err == nil || string(refused) != want {
		t.Errorf("a second engine: %v\ngot  %swant %s", err, refused, want)
	}

	begun := time.Now()
	if err := engine.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, readErr := io.ReadAll(stdout)
	if err := errors.Join(readErr, engine.Wait()); err != nil {
		t.Errorf("a terminated engine: %v", err)
	}
	t.Logf("stopped in %v", time.Since(begun).Round(time.Millisecond))
	if _, err := os.Stat(addressFile); !os.IsNotExist(err) {
		t.Errorf("the address is left behind: %v", err)
	}
	if len(rest) > 0 || stderr.Len() > 0 {
		t.Errorf("it said more than that it was ready:\n%s%s", rest, &stderr)
	}
}

// TestThePasswordOfTheEngineIsNotAnArgument has a person write the password of the engine's
// database where others can read it.
func TestThePasswordOfTheEngineIsNotAnArgument(t *testing.T) {
	for database, want := range map[string]string{
		"postgres://u:hunter2@127.0.0.1:1/engine": "retinue: --postgres: a secret must not be written here: put it into a variable or a file, and write {env:NAME} or {file:path}\n",
		"{env:NO_SUCH_DSN}":                       "retinue: --postgres: the variable NO_SUCH_DSN is not set\n",
	} {
		out, err := program(t, "engine", "--postgres", database, "--credentials", t.TempDir()).CombinedOutput()
		if err == nil || string(out) != want {
			t.Errorf("%s: %v\ngot  %swant %s", database, err, out, want)
		}
	}
}

// onlyLoopback checks that the listening sockets of a process are on the one network they may be
// on.
func onlyLoopback(t *testing.T, pid int) {
	t.Helper()
	process := fmt.Sprintf("/proc/%d", pid)
	if _, err := os.Stat(process); err != nil {
		t.Skip("no /proc to look into")
	}
	links, err := filepath.Glob(process + "/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	sockets := map[string]bool{}
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil { // some are closed meanwhile
			sockets[name] = true
		}
	}
	var listening []string
	for _, table := range []string{"/net/tcp", "/net/tcp6"} {
		text, err := os.ReadFile(process + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if fields[3] == "0A" && sockets["socket:["+fields[9]+"]"] {
				listening = append(listening, fields[1])
			}
		}
	}
	if len(listening) != 4 {
		t.Errorf("%d sockets listen, want one for each part of the server: %v", len(listening), listening)
	}
	for _, at := range listening {
		if !strings.HasPrefix(at, "0100007F:") {
			t.Errorf("a socket listens on %s, which is not 127.0.0.1", at)
		}
	}
}
