package builtin_test

import (
	"context"
	"encoding/json"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/tool"
)

const secret = "SECRET-OUTSIDE"

// hostile is a workspace with a neighbour that nobody may read, and ways that seem to lead there.
func hostile(t testing.TB) (dir string, s *tool.Set) {
	t.Helper()
	top := tree(t, map[string]string{
		"outside/secret.txt":    secret,
		"work-too/secret.txt":   secret,
		"work/inside.txt":       "inside\n",
		"work/-too/secret.txt":  "not what was asked for\n",
		"work/sub/x.txt":        "x\n",
		"work/up":               "->..",
		"work/out":              "->../outside",
		"work/file":             "->../outside/secret.txt",
		"work/dangling":         "->../outside/none",
		"work/proc":             "->/proc/self",
		"work/environ":          "->/proc/self/environ",
		"work/null":             "->/dev/null",
		"work/zero":             "->/dev/zero",
		"work/sub/chain":        "->../chain2",
		"work/chain2":           "->sub/../../outside/secret.txt",
		"work/loop1":            "->loop2",
		"work/loop2":            "->loop1",
		"work/self":             "->.",
		"work/sub/.gitignore":   "->../../outside/secret.txt",
		"work/new\nline.txt":    "needle\n",
		"work/bad\xff.txt":      "needle\n",
		"work/sub/parent":       "->..",
		"work/wide.txt":         strings.Repeat("a", 3<<20) + "needle\n",
		"work/link-inside":      "->sub/x.txt",
		"work/sub/absolute":     "->/etc/passwd",
		"work/almost":           "->../work-too/secret.txt",
		"work/sub/deep/er/y.md": "y\n",
	})
	dir = filepath.Join(top, "work")
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return dir, openSet(t, dir)
}

func TestNoPathLeadsOutOfTheWorkspace(t *testing.T) {
	dir, s := hostile(t)
	paths := []string{
		"..", "../outside", "../outside/secret.txt", "sub/../../outside/secret.txt", "./../outside/secret.txt",
		"up", "up/outside/secret.txt", "out", "out/", "out/secret.txt", "file", "file/", "dangling", "proc", "proc/",
		"proc/environ", "proc/root/etc/passwd", "environ", "null", "zero", "sub/chain", "chain2", "loop1", "loop1/x",
		"self/self/up/outside/secret.txt", "sub/parent/../../outside/secret.txt", "sub/absolute", "almost",
		"/", "/etc/passwd", "/proc/self/environ", "/dev/zero", dir + "/../outside/secret.txt", dir + "-too/secret.txt",
		dir + "/file", "//etc/passwd", "a\x00b", "~/.ssh/id_rsa", "pipe", "socket", "inside.txt/../../outside/secret.txt",
		strings.Repeat("a/", 5000) + "b", strings.Repeat("a", 5000), "C:\\secret.txt", "..\\outside\\secret.txt",
	}
	for _, p := range paths {
		for _, call := range []struct{ tool, args string }{
			{"read_file", quote("path", p)},
			{"list_dir", quote("path", p)},
			{"glob", strings.TrimSuffix(quote("path", p), "}") + `,"pattern":"**"}`},
			{"grep", strings.TrimSuffix(quote("path", p), "}") + `,"pattern":"."}`},
		} {
			r := ask(t, s, call.tool, call.args)
			if r.End != tool.EndFailed || strings.Contains(r.Text, secret) || strings.Contains(r.Text, "root:x:") || r.Facts.Read != nil {
				t.Errorf("%s %q: %s\n%.300s", call.tool, p, r.End, r.Text)
			}
		}
	}
	for _, call := range []struct{ tool, args string }{{"glob", `{"pattern":"**"}`}, {"grep", `{"pattern":"SECRET|root:"}`}, {"list_dir", `{}`}} {
		if r := ask(t, s, call.tool, call.args); r.End != tool.EndOK || strings.Contains(r.Text, secret) || strings.Contains(r.Text, "up/") {
			t.Errorf("%s: %s\n%s", call.tool, r.End, r.Text)
		}
	}
}

func TestHostileEntriesAreExplained(t *testing.T) {
	dir, s := hostile(t)
	var out strings.Builder
	for _, call := range []struct{ tool, args string }{
		{"read_file", `{"path":"../outside/secret.txt"}`},
		{"read_file", `{"path":"/etc/passwd"}`},
		{"read_file", `{"path":"out/secret.txt"}`},
		{"read_file", `{"path":"loop1"}`},
		{"read_file", `{"path":"dangling"}`},
		{"read_file", `{"path":"environ"}`},
		{"read_file", `{"path":"zero"}`},
		{"read_file", `{"path":"pipe"}`},
		{"read_file", `{"path":"socket"}`},
		{"read_file", `{"path":"inside.txt/x"}`},
		{"read_file", `{"path":"link-inside"}`},
		{"read_file", `{"path":"self/self/inside.txt"}`},
		{"read_file", `{"path":"new\nlines.txt"}`},
		{"list_dir", `{}`},
		{"glob", `{"pattern":"**"}`},
		{"grep", `{"pattern":"needle"}`},
	} {
		r := ask(t, s, call.tool, call.args)
		out.WriteString("== " + call.tool + " " + call.args + ": " + string(r.End) + "\n" + r.Text + "\n")
	}
	golden(t, "hostile.golden", strings.ReplaceAll(out.String(), dir, "/workspace"))
	r := ask(t, s, "read_file", `{"path":"wide.txt"}`)
	if want := "… (3143734 bytes more)\n"; !strings.HasSuffix(r.Text, want) || len(r.Text) > 2100 {
		t.Errorf("a line of 3 MiB came as %d bytes: %s", len(r.Text), r.Text[max(0, len(r.Text)-60):])
	}
}

func TestDevicesAndProcInsideTheWorkspaceDoNotHang(t *testing.T) {
	for dir, names := range map[string][]string{"/dev": {"zero", "null", "tty"}, "/proc/self": {"comm", "fd/0", "mem", "root/etc/passwd"}} {
		if _, err := os.Stat(dir); err != nil {
			t.Skipf("no %s on this system", dir)
		}
		s := openSet(t, dir)
		for _, name := range names {
			r := ask(t, s, "read_file", quote("path", name))
			if (name == "comm") != (r.End == tool.EndOK) {
				t.Errorf("%s/%s: %s %.200s", dir, name, r.End, r.Text)
			}
		}
	}
}

// races is how often a link is raced, twice each: make escape asks for 20,000 calls.
var races = flag.Int("races", 500, "how often links are swapped while tools read")

func TestALinkSwappedMeanwhileIsNotFollowedOut(t *testing.T) { raceLinks(t, *races) }

func raceLinks(t *testing.T, calls int) {
	t.Helper()
	dir, s := hostile(t)
	name := filepath.Join(dir, "swapped")
	must(t, os.Mkdir(name, 0o755))
	must(t, os.WriteFile(filepath.Join(name, "secret.txt"), []byte("harmless"), 0o644))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = os.Rename(name, name+".kept")
			_ = os.Symlink("../outside", name)
			_ = os.Remove(name)
			_ = os.Rename(name+".kept", name)
		}
	}()
	seen, total, patience := 0, 0, time.Now().Add(time.Minute)
	for total < 2*calls || (seen == 0 || seen == total) && time.Now().Before(patience) {
		for _, call := range []struct{ tool, args string }{
			{"read_file", `{"path":"swapped/secret.txt"}`}, {"grep", `{"pattern":".","path":"swapped"}`},
		} {
			r := ask(t, s, call.tool, call.args)
			if strings.Contains(r.Text, secret) {
				t.Fatalf("%s got out", call.tool)
			}
			total++
			if r.End == tool.EndOK && len(r.Facts.Read) > 0 {
				seen++
			}
		}
	}
	stop()
	<-done
	if seen == 0 || seen == total {
		t.Errorf("%d of %d calls saw the folder: the race did not happen", seen, total)
	}
}

func FuzzResolve(f *testing.F) {
	for _, p := range []string{"a", "../x", "/etc/passwd", "sub/../..", "out/secret.txt", "self/up/outside/secret.txt", "\x00", "", "./", "//", "a\xff"} {
		f.Add(p)
	}
	dir, s := hostile(f)
	f.Fuzz(func(t *testing.T, p string) {
		for _, given := range []string{p, dir + "/" + p} {
			args, err := json.Marshal(map[string]string{"path": given})
			must(t, err)
			for _, name := range []string{"read_file", "list_dir"} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				r, err := s.Run(ctx, tool.Call{ID: "f", Tool: name, Args: args})
				cancel()
				if err != nil || strings.Contains(r.Text, secret) || strings.Contains(r.Text, "root:x:") || strings.Contains(r.Text, "broke down") {
					t.Fatalf("%s %q: %v %.300s", name, given, err, r.Text)
				}
				for _, file := range r.Facts.Read {
					if strings.HasPrefix(file.Path, "..") || strings.HasPrefix(file.Path, "/") {
						t.Fatalf("%q was read as %q", given, file.Path)
					}
				}
			}
		}
	})
}
