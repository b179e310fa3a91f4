package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// trap is a workspace whose repository runs a program at every opportunity git knows of. Each
// leaves a file beside the workspace.
func trap(t *testing.T) (folder, marks string) {
	t.Helper()
	folder, marks = t.TempDir(), t.TempDir()
	git(t, folder, "init", "-q")
	program := filepath.Join(marks, "program.sh")
	text := fmt.Sprintf("#!/bin/sh\ntouch %s/ran-$(basename $0)-$$\ncat\n", marks)
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	hooks := []string{
		"post-checkout", "pre-commit", "post-commit", "post-index-change", "reference-transaction", "post-merge", "pre-applypatch",
		"applypatch-msg", "post-applypatch", "fsmonitor-watchman", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "pre-auto-gc",
	}
	for _, hook := range hooks {
		if err := os.WriteFile(filepath.Join(folder, ".git", "hooks", hook), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := strings.ReplaceAll(`[core]
	fsmonitor = PROGRAM
	sshCommand = PROGRAM
	pager = PROGRAM
	editor = PROGRAM
	attributesFile = attributes
	alternateRefsCommand = PROGRAM
[filter "evil"]
	clean = PROGRAM
	smudge = PROGRAM
	process = PROGRAM
	required = true
[diff]
	external = PROGRAM
[diff "evil"]
	textconv = PROGRAM
	command = PROGRAM
[merge "evil"]
	driver = PROGRAM %A
[gpg]
	program = PROGRAM
[commit]
	gpgSign = true
[credential]
	helper = PROGRAM
`, "PROGRAM", program)
	lay(t, folder, map[string]string{
		".git/config": config, "sum.go": function,
		".gitattributes":       "* filter=evil diff=evil merge=evil text eol=crlf ident working-tree-encoding=UTF-16\n",
		".git/info/attributes": "* filter=evil diff=evil merge=evil\n",
		"ident.txt":            "$Id$\n",
	})
	return folder, marks
}

// ran lists the marks that programs left.
func ran(t *testing.T, marks string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(marks, "ran-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestNothingOfAHostileRepositoryRuns does all there is to do in a workspace full of traps, once as
// it is and once with the traps in a nested repository too. That they work is seen by using git in
// the ordinary way.
func TestNothingOfAHostileRepositoryRuns(t *testing.T) {
	folder, marks := trap(t)
	nested, _ := trap(t)
	if err := os.Rename(nested, filepath.Join(folder, "nested")); err != nil {
		t.Fatal(err)
	}
	lay(t, folder, map[string]string{".gitmodules": "[submodule \"nested\"]\n\tpath = nested\n\turl = ext::sh -c touch%20x\n\tupdate = !touch y\n"})
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "trees"), folder)
	if err != nil {
		t.Fatal(err)
	}
	b := bench{Store: s, t: t}
	before := held(t, folder)
	one, two := b.plant("one", ""), b.plant("two", "")
	lay(t, one, map[string]string{"sum.go": strings.ReplaceAll(function, "a + b", "b + a")})
	lay(t, two, map[string]string{"sum.go": strings.ReplaceAll(function, "a + b", "a - -b"), "ident.txt": "$Id$\nmore\n"})
	b.write(b.merge("one", b.patch("one").Text))
	if got := b.merge("two", b.patch("two").Text).Conflicts; len(got) != 1 || got[0].Kind != ConflictContent {
		t.Errorf("the conflict is %v", got)
	}
	before["sum.go"] = strings.ReplaceAll(function, "a + b", "b + a")
	if diff := cmp.Diff(before, held(t, folder)); diff != "" {
		t.Errorf("the workspace: %s", diff)
	}
	if data, err := os.ReadFile(filepath.Join(one, "ident.txt")); err != nil || string(data) != "$Id$\n" {
		t.Errorf("a copied file is not as it was: %q %v", data, err)
	}
	if found := ran(t, marks); len(found) > 0 {
		t.Errorf("these ran: %v", found)
	}
	if _, err := os.Lstat(filepath.Join(one, "nested")); err == nil {
		t.Error("a nested repository was copied")
	}
	cmd := []string{"-c", "safe.directory=*", "status"}
	git(t, folder, cmd...)
	if len(ran(t, marks)) == 0 {
		t.Error("the traps do not work: nothing ran in ordinary use")
	}
}

// TestAStrangeGitFolderLeadsNowhere puts something else in place of .git.
func TestAStrangeGitFolderLeadsNowhere(t *testing.T) {
	for name, put := range map[string]func(path, marks string) error{
		"a link to a repository": func(path, marks string) error { return os.Symlink(filepath.Join(marks, "other", ".git"), path) },
		"a file that names one": func(path, marks string) error {
			return os.WriteFile(path, []byte("gitdir: "+filepath.Join(marks, "other", ".git")+"\n"), 0o644)
		},
		"a link in a circle": func(path, _ string) error { return os.Symlink(".git", path) },
		"a pipe":             func(path, _ string) error { return syscall.Mkfifo(path, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			other, marks := trap(t)
			if err := os.Rename(other, filepath.Join(marks, "other")); err != nil {
				t.Fatal(err)
			}
			b := newBench(t, map[string]string{"a.txt": "one\n"})
			if err := put(filepath.Join(b.folder, ".git"), marks); err != nil {
				t.Fatal(err)
			}
			tree := b.plant("one", "")
			lay(t, tree, map[string]string{"a.txt": "two\n"})
			b.write(b.merge("one", b.patch("one").Text))
			if data, err := os.ReadFile(filepath.Join(b.folder, "a.txt")); err != nil || string(data) != "two\n" {
				t.Errorf("merged: %q %v", data, err)
			}
			if found := ran(t, marks); len(found) > 0 {
				t.Errorf("these ran: %v", found)
			}
		})
	}
}

// TestWhatIsNoFileOrTooLargeIsLeftOut copies a workspace with things in it that cannot be copied.
func TestWhatIsNoFileOrTooLargeIsLeftOut(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	huge, err := os.Create(filepath.Join(b.folder, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(10 << 30); err != nil {
		t.Fatal(err)
	}
	if err := huge.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.folder, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"out": "/etc/passwd", "up": "..", "dir": "/"} {
		if err := os.Symlink(target, filepath.Join(b.folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"a.txt": "one\n", "out": "-> /etc/passwd", "up": "-> ..", "dir": "-> /"}
	if diff := cmp.Diff(want, held(t, b.plant("one", ""))); diff != "" {
		t.Error(diff)
	}
}

// TestALinkInATreeLeadsNowhere has an agent put links into its tree, in place of files and folders.
func TestALinkInATreeLeadsNowhere(t *testing.T) {
	b := newBench(t, map[string]string{"sub/a.txt": "one\n", "b.txt": "one\n"})
	outside := t.TempDir()
	lay(t, outside, map[string]string{"a.txt": "outside\n"})
	tree := b.plant("one", "")
	for _, gone := range []string{"sub/a.txt", "sub", "b.txt"} {
		if err := os.Remove(filepath.Join(tree, gone)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(tree, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(tree, "b.txt")); err != nil {
		t.Fatal(err)
	}
	p := b.patch("one")
	if strings.Contains(p.Text, "+outside") || strings.Contains(p.Text, "root:") {
		t.Errorf("the patch has what lies outside:\n%s", p.Text)
	}
	m := b.merge("one", p.Text)
	for _, c := range m.Conflicts {
		if c.Kind != ConflictNoFile {
			t.Errorf("%s: %s", c.Path, c.Kind)
		}
	}
	if len(m.Conflicts) == 0 {
		t.Error("links were merged")
	}
}

// TestAPatchThatWasChangedIsRefused gives a merge a text that nobody made by comparing.
func TestAPatchThatWasChangedIsRefused(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	b.plant("one", "")
	root, err := os.OpenRoot(b.folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, path := range []string{"../out", ".git/config", "sub/.git/hooks/x", "/etc/x"} {
		text := fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+x\n", path)
		if m, err := b.Merge(t.Context(), "one", text, root); err == nil {
			t.Errorf("%s: %v", path, m)
		}
	}
}
