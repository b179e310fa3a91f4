//go:build services

package docs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
)

// TestAPI runs docs/api.md against the program with the engine inside, in a home of its own. The
// one thing that is changed in a command is the address, since that of the documentation may be
// taken.
func TestAPI(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	address, contract := watched(t, serve(t, home))
	shell := newShell(t, home)
	steps := read(string(page))
	if len(steps) == 0 {
		t.Fatal("docs/api.md has no console blocks")
	}
	for _, s := range steps {
		got := shell.run(t, strings.ReplaceAll(s.command, "http://127.0.0.1:7433", address))
		if !matches(s.want, got) {
			t.Fatalf("docs/api.md:%d: $ %s\ngives\n%s\nwhere the page has\n%s", s.line, s.command, got, s.want)
		}
	}
	t.Logf("%d commands gave what the page says; %d of %d operations were asked for; %v", len(steps),
		len(contract.Operations())-len(contract.Unasked()), len(contract.Operations()), contract.Counts())
}

// watched puts a proxy before a server and checks every exchange against the document that the
// server serves.
func watched(t *testing.T, server string) (string, *apitest.Contract) {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	contract, err := apitest.Fetch(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: contract.Client(t).Transport, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // readers of streams leave when they have seen enough
	})
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL, contract
}

// serve starts the program and returns its address.
func serve(t *testing.T, home string) string {
	t.Helper()
	program, err := filepath.Abs("../../bin/retinue-full")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("run 'make engine' first: %v", err)
	}
	said := filepath.Join(home, "up.log")
	file, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "up", "--demo")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = home, environ(home), file, file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
		_ = file.Close()
	})
	where := regexp.MustCompile(`server\s+(http://[0-9.:]+)`)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		text, err := os.ReadFile(said)
		if err != nil {
			t.Fatal(err)
		}
		if found := where.FindSubmatch(text); found != nil {
			return string(found[1])
		}
	}
	text, _ := os.ReadFile(said)
	t.Fatalf("the server does not come up:\n%s", text)
	return ""
}

// environ has nothing of the person's who runs the test.
func environ(home string) []string {
	return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "USER=ann"}
}

// shell is one bash that runs command after command.
type shell struct {
	in  io.Writer
	out *bufio.Reader
}

func newShell(t *testing.T, home string) *shell {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env = home, environ(home)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &shell{in: in, out: bufio.NewReader(out)}
}

const (
	// mark ends the output of a command.
	mark = "=== the end of a command ==="
	// commandTime is how long a command may take.
	commandTime = time.Minute
)

// run gives what a command prints.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	if _, err := fmt.Fprintf(s.in, "%s\necho '%s'\n", command, mark); err != nil {
		t.Fatal(err)
	}
	printed := make(chan string, 1)
	go func() {
		var out strings.Builder
		for {
			line, err := s.out.ReadString('\n')
			if before, found := strings.CutSuffix(line, mark+"\n"); found || err != nil {
				printed <- out.String() + before
				return
			}
			out.WriteString(line)
		}
	}()
	select {
	case out := <-printed:
		return out
	case <-time.After(commandTime):
		t.Fatalf("$ %s does not end", command)
		return ""
	}
}

// step is one command of a page, with its output.
type step struct {
	line          int
	command, want string
}

// read takes the commands out of a page's console blocks: "$ " begins one, "> " continues it, and
// the rest is its output.
func read(page string) (steps []step) {
	inside := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{line: i + 1, command: line[2:]})
		case strings.HasPrefix(line, "> "):
			steps[len(steps)-1].command += "\n" + line[2:]
		default:
			steps[len(steps)-1].want += line + "\n"
		}
	}
	return steps
}

// matches compares an output with the page's: "..." stands for anything in a line, and a line of it
// for any lines.
func matches(want, got string) bool {
	pattern := regexp.QuoteMeta(want)
	pattern = regexp.MustCompile(`(?m)^\\\.\\\.\\\.\n`).ReplaceAllString(pattern, `(?:.*\n)*?`)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `.*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}
