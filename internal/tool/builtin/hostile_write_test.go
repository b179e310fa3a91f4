package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/tool"
)

// hostileWriting is the hostile workspace with the tools that write.
func hostileWriting(t testing.TB) (dir string, s *tool.Set) {
	t.Helper()
	dir, _ = hostile(t)
	for name, content := range map[string]string{
		".git/config": "[core]\n", ".retinue/agents/a.md": "a\n", "sub/.claude/x": "x\n", ".mcp.json": "{}\n",
		"hooks": "->.git/hooks", "settings": "->.mcp.json", "sub/up-to-git": "->../.git",
		"linked/.git": "->../sub",
	} {
		full := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			must(t, os.Symlink(target, full))
			continue
		}
		must(t, os.WriteFile(full, []byte(content), 0o644))
	}
	return dir, openWriting(t, dir)
}

func TestNoPathIsWrittenOutsideTheWorkspace(t *testing.T) {
	dir, s := hostileWriting(t)
	top := filepath.Dir(dir)
	before := contents(t, top)
	for _, p := range []string{
		"..", "../outside/new.txt", "../outside/secret.txt", "sub/../../outside/new.txt", "up/outside/new.txt", "out/new.txt", "out/secret.txt",
		"out/", "file", "file/", "dangling", "dangling/x", "proc/x", "environ", "null", "zero", "zero/", "sub/chain", "chain2", "loop1", "loop1/x",
		"self/self/up/outside/new.txt", "self/", "self", "sub/parent/up/outside/new.txt", "sub/absolute", "almost", "/", "/etc/retinue-test",
		"/dev/zero", dir + "/../outside/new.txt", dir + "-too/new.txt", "//etc/retinue-test", "a\x00b", "pipe", "socket", "pipe/x", "inside.txt/x",
		"inside.txt/", "sub", "sub/", ".", "./", "", strings.Repeat("a/", 5000) + "b", strings.Repeat("a", 5000),
	} {
		for _, call := range []struct{ tool, args string }{
			{"write_file", arguments(t, "path", p, "content", "OVERWRITTEN")},
			{"edit_file", arguments(t, "path", p, "old", "S", "new", "OVERWRITTEN")},
		} {
			r := ask(t, s, call.tool, call.args)
			if r.End != tool.EndFailed || strings.Contains(r.Text, secret) || !r.Facts.Empty() || strings.Contains(r.Text, "broke down") {
				t.Errorf("%s %.80q: %s\n%.300s", call.tool, p, r.End, r.Text)
			}
		}
	}
	if diff := cmp.Diff(before, contents(t, top)); diff != "" {
		t.Errorf("before (-), after (+):\n%s", diff)
	}
}

func TestProtectedPathsAreNotWritten(t *testing.T) {
	dir, s := hostileWriting(t)
	before := contents(t, dir)
	paths := []string{
		".git/config", ".git/hooks/pre-commit", ".git", "sub/.git/config", ".GIT/config", ".Git", ".git./config", ".g\u200cit/config",
		".retinue/agents/a.md", ".retinue/new", "sub/.claude/x", ".claude/settings.json", ".mcp.json", ".MCP.json", "sub/.mcp.json", ".envrc",
		".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", "home/.zprofile", ".config/fish/config.fish", ".config/fish/conf.d/a.fish",
		".codex/config.toml", ".cursor/rules", ".gemini/settings.json", ".vscode/tasks.json", "sub/.IDEA/workspace.xml",
		".husky/pre-commit", "web/.husky/_/x", ".githooks/x", "lefthook.yml", ".Lefthook.toml", ".pre-commit-config.yaml", ".devcontainer/x",
		".zed/tasks.json", "mise.toml", "sub/.mise.toml", ".windsurf/x",
		"hooks/pre-commit", "hooks", "settings", "sub/up-to-git/config", "sub/../.git/config", dir + "/.git/config", "self/.git/config", "linked/.git/x.txt",
	}
	for _, p := range paths {
		for _, call := range []struct{ tool, args string }{
			{"write_file", arguments(t, "path", p, "content", "x")},
			{"edit_file", arguments(t, "path", p, "old", "a", "new", "x")},
		} {
			if r := ask(t, s, call.tool, call.args); r.End != tool.EndFailed || !strings.Contains(r.Text, "is protected") {
				t.Errorf("%s %q: %s %s", call.tool, p, r.End, r.Text)
			}
		}
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("before (-), after (+):\n%s", diff)
	}
	for _, p := range []string{".github/ci.yml", ".gitignore", "git/config", "claude/x", "mcp.json", "vscode/x", ".vscoded", ".config/fisher/x", "a.bashrc"} {
		if r := ask(t, s, "write_file", arguments(t, "path", p, "content", "x\n")); r.End != tool.EndOK {
			t.Errorf("%s is not protected: %s", p, r.Text)
		}
	}
}

func TestALinkSwappedMeanwhileIsNotWrittenThrough(t *testing.T) {
	dir, s := hostileWriting(t)
	name := filepath.Join(dir, "swapped")
	must(t, os.Mkdir(name, 0o755))
	must(t, os.WriteFile(filepath.Join(name, "secret.txt"), []byte("harmless"), 0o644))
	must(t, os.WriteFile(filepath.Join(name, "config"), []byte("harmless"), 0o644))
	outside, git := contents(t, filepath.Join(dir, "..", "outside")), contents(t, filepath.Join(dir, ".git"))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			_ = os.Rename(name, name+".kept")
			_ = os.Symlink([]string{"../outside", ".git"}[i%2], name)
			_ = os.Remove(name)
			for os.Rename(name+".kept", name) != nil {
				_ = os.RemoveAll(name) // a call found nothing there and made the folder anew
			}
			time.Sleep(time.Duration(i%8) * 500 * time.Microsecond) // now and then there is time for a whole call
		}
	}()
	wrote, calls, patience := 0, 0, time.Now().Add(time.Minute)
	for i := 0; i < 2000 || (wrote == 0 || wrote == i) && time.Now().Before(patience); i++ {
		calls++
		call := []struct{ tool, args string }{
			{"write_file", arguments(t, "path", "swapped/secret.txt", "content", strings.Repeat("x", i%2000))},
			{"edit_file", `{"path":"swapped/config","old":"e","new":"ee","replace_all":true}`},
			{"write_file", arguments(t, "path", "swapped/config", "content", "harmless")},
		}[i%3]
		if ask(t, s, call.tool, call.args).End == tool.EndOK {
			wrote++
		}
	}
	stop()
	<-done
	if diff := cmp.Diff(outside, contents(t, filepath.Join(dir, "..", "outside"))); diff != "" {
		t.Errorf("outside:\n%s", diff)
	}
	if diff := cmp.Diff(git, contents(t, filepath.Join(dir, ".git"))); diff != "" {
		t.Errorf(".git:\n%s", diff)
	}
	t.Logf("%d of %d calls wrote", wrote, calls)
	if wrote == 0 || wrote == calls {
		t.Error("the race did not happen")
	}
}

func FuzzWrite(f *testing.F) {
	for _, p := range []string{"a", "../x", "/etc/x", "sub/../..", "out/x", "self/up/outside/x", "\x00", "", "./", "//", "a\xff", ".git/x", "hooks/x", "sub/up-to-git/x", ".GIT/x"} {
		f.Add(p)
	}
	dir, s := hostileWriting(f)
	outside, git := contents(f, filepath.Join(dir, "..", "outside")), contents(f, filepath.Join(dir, ".git"))
	f.Fuzz(func(t *testing.T, p string) {
		for _, given := range []string{p, dir + "/" + p} {
			r := ask(t, s, "write_file", arguments(t, "path", given, "content", "x"))
			for _, c := range r.Facts.Wrote {
				if !filepath.IsLocal(c.Path) || strings.Contains(strings.ToLower("/"+c.Path+"/"), "/.git/") {
					t.Fatalf("%q was written as %q", given, c.Path)
				}
			}
		}
		if !cmp.Equal(outside, contents(t, filepath.Join(dir, "..", "outside"))) || !cmp.Equal(git, contents(t, filepath.Join(dir, ".git"))) {
			t.Fatalf("%q got out", p)
		}
	})
}
