//go:build services

package mcp

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/porttest"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
)

// install puts the servers from the registry into the workspace, as npm does it for a project.
func (f field) install(t *testing.T) {
	t.Helper()
	from := os.Getenv(serversDir)
	if from == "" {
		t.Fatalf("%s is not set: run 'make test/mcp'", serversDir)
	}
	if err := os.CopyFS(filepath.Join(f.work, "node_modules"), os.DirFS(filepath.Join(from, "node_modules"))); err != nil {
		t.Fatal(err)
	}
}

// npm is a server from the registry, as a program in the workspace.
func npm(name string, args ...string) Entry {
	e := Entry{
		Name: "s", Scope: "user", Command: "node",
		Args: []Text{Plain("node_modules/@modelcontextprotocol/" + name + "/dist/index.js")},
	}
	for _, a := range args {
		e.Args = append(e.Args, Plain(a))
	}
	return e
}

func run(t *testing.T, set *tool.Set, name, args string) tool.Result {
	t.Helper()
	r, err := set.Run(t.Context(), tool.Call{ID: "1.0", Tool: "mcp__s__" + name, Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// patient is long enough for node on a busy machine.
const patient = time.Minute

func TestServerFilesystem(t *testing.T) {
	f := newField(t)
	f.install(t)
	f.options.start = patient
	f.Use([]Entry{npm("server-filesystem", f.work)})
	f.approve(t)
	set := f.set(t)
	report := f.look(t)
	if len(report.Tools) < 10 {
		t.Errorf("only %d tools", len(report.Tools))
	}
	for _, st := range report.Tools {
		if st.State != StateApproved {
			t.Errorf("%s is %s: %s", st.Name, st.State, st.Problem)
		}
	}
	path := filepath.Join(f.work, "note.txt")
	if r := run(t, set, "write_file", `{"path":"`+path+`","content":"from inside"}`); r.End != tool.EndOK {
		t.Errorf("write: %v", r)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "from inside" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if r := run(t, set, "read_text_file", `{"path":"`+path+`"}`); !strings.Contains(r.Text, "from inside") || r.End != tool.EndOK {
		t.Errorf("read: %v", r)
	}
	if r := run(t, set, "read_text_file", `{"path":"/etc/shadow"}`); r.End != tool.EndFailed {
		t.Errorf("outside: %v", r)
	}
	// The sandbox holds even where the server would let it through.
	if r := run(t, set, "write_file", `{"path":"`+filepath.Join(f.work, ".git/hooks/pre-commit")+`","content":"x"}`); r.End != tool.EndFailed {
		t.Errorf("a hook: %v", r)
	}
	measure.Figure(t, "test/mcp: server-filesystem: %s, protocol %s, %d tools", report.Server, report.Protocol, len(report.Tools))
}

func TestServerEverything(t *testing.T) {
	f := newField(t)
	f.install(t)
	f.options.start = patient
	f.Use([]Entry{npm("server-everything", "stdio")})
	everything(t, f)
}

func TestServerEverythingOverHTTP(t *testing.T) {
	f := newField(t)
	f.options.start = patient
	port := strconv.Itoa(porttest.Hold(t))
	cmd := exec.CommandContext(t.Context(), "node",
		filepath.Join(os.Getenv(serversDir), "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 600 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = conn.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.Use([]Entry{{Name: "s", Scope: "user", URL: "http://127.0.0.1:" + port + "/mcp"}})
	everything(t, f)
}

// everything uses what server-everything has.
func everything(t *testing.T, f field) {
	t.Helper()
	f.approve(t)
	set := f.set(t)
	if r := run(t, set, "echo", `{"message":"hello"}`); r.End != tool.EndOK || r.Text != "Echo: hello" {
		t.Errorf("echo: %v", r)
	}
	if r := run(t, set, "get-sum", `{"a":2,"b":40}`); r.End != tool.EndOK || !strings.Contains(r.Text, "42") {
		t.Errorf("sum: %v", r)
	}
	if r := run(t, set, "get-tiny-image", `{}`); r.End != tool.EndOK || len(r.Images) != 1 || r.Images[0].Type != "image/png" {
		t.Errorf("image: %v", r)
	}
	if r := run(t, set, "get-sum", `{"a":"two"}`); r.End != tool.EndFailed {
		t.Errorf("a sum of nothing: %v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := set.Run(ctx, tool.Call{Tool: "mcp__s__trigger-long-running-operation", Args: json.RawMessage(`{"duration":30,"steps":3}`)})
	measure.Most(t, "mcp: a long call that was given up comes back", time.Since(began), 2*time.Second)
	if err == nil {
		t.Error("a long call that was given up has a result")
	}
	if r := run(t, set, "echo", `{"message":"again"}`); r.Text != "Echo: again" {
		t.Errorf("after a cancel: %v", r)
	}
	report := f.look(t)
	measure.Figure(t, "test/mcp: server-everything: %s, protocol %s, %d tools, %d usable", report.Server, report.Protocol, len(report.Tools), len(f.Tools()))
}

// TestProgramsReachTheirHostsOnly runs a program that tries two hosts, of which its entry names
// one.
func TestProgramsReachTheirHostsOnly(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("reached"))
	}))
	defer server.Close()
	for name, c := range map[string]struct {
		hosts []string
		want  bool
	}{
		"named": {[]string{server.Listener.Addr().String()}, true}, "another": {[]string{"example.com"}, false}, "none": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newField(t)
			_, network, closeGate, err := f.options.openGate(t.Context(), c.hosts, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer closeGate()
			box, err := f.options.Box(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			outcome, err := box.Run(t.Context(), sandbox.Command{
				Argv: []string{"curl", "-sS", "-m", "5", server.URL}, Workspace: f.work, Network: network,
			})
			if err != nil {
				t.Fatal(err)
			}
			if reached := outcome.Stdout.String() == "reached"; reached != c.want {
				t.Errorf("%q %q", outcome.Stdout, outcome.Stderr)
			}
		})
	}
}
