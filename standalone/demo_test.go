package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDemoAddsAFeature plays the longer of the two demos as a person would: a planner, a coder and,
// below it, a tester change a Go module and run its tests in the sandbox. The person is asked about
// each change and about the command, and the receipts verify all claims.
func TestDemoAddsAFeature(t *testing.T) {
	w := newProject(t, "answer")
	up := w.retinue("up", "--demo", "--set", "sandbox.allow_root=true")
	rest := waiting(t, up)
	tty := onTerminal(t, w.retinue("run", "--demo", "Add a discount to the shop, with tests"))
	for _, call := range []string{"edit_file", "write_file", "shell"} {
		tty.until("[n]o: ")
		if !strings.Contains(tty.seen, "to call "+call) {
			t.Fatalf("nobody asks about %s:\n%s", call, tty.seen)
		}
		if _, err := io.WriteString(tty.keys, "y\n"); err != nil {
			t.Fatal(err)
		}
	}
	tty.end("go test -v ./...", "✓ verified",
		"The shop can give a discount. The claims were compared with the record: verified.")
	if strings.Contains(tty.seen, "contradicted") || strings.Contains(tty.seen, "unverified") {
		t.Errorf("claims do not hold:\n%s", tty.seen)
	}
	if err := up.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if end := rest(); end.Code != exitDone {
		t.Errorf("after SIGTERM: %+v", end)
	}

	// The demo left a module whose tests pass, and notice when the new function is wrong.
	shop := filepath.Join(w.dir, "data", "demo", "workspace")
	test := func() ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "./...")
		cmd.Dir = shop
		return cmd.CombinedOutput()
	}
	if out, err := test(); err != nil || strings.Count(string(out), "--- PASS") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
	price := filepath.Join(shop, "shop", "price.go")
	text, err := os.ReadFile(price)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(text), "percent/100", "percent/10", 1)
	if err := os.WriteFile(price, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := test(); err == nil || !strings.Contains(string(out), "15 percent off 1000 leave") {
		t.Errorf("%v\n%s", err, out)
	}
}
