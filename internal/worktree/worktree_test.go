package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bench is a workspace with a store.
type bench struct {
	*Store
	t *testing.T
}

func newBench(t *testing.T, files map[string]string) bench {
	t.Helper()
	folder := t.TempDir()
	lay(t, folder, files)
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "trees"), folder)
	if err != nil {
		t.Fatal(err)
	}
	return bench{Store: s, t: t}
}

func lay(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// held is what a folder holds, without .git.
func held(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(folder, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && rel == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case d.Type()&os.ModeSymlink != 0:
			link, err := os.Readlink(path)
			out[rel] = "-> " + link
			return err
		}
		data, err := os.ReadFile(path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (b bench) plant(id, from string) string {
	b.t.Helper()
	if err := b.Create(b.t.Context(), id, from); err != nil {
		b.t.Fatal(err)
	}
	return b.Folder(id)
}

func (b bench) patch(id string) Patch {
	b.t.Helper()
	p, err := b.Patch(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b bench) merge(id, patch string) Merge {
	b.t.Helper()
	root, err := os.OpenRoot(b.folder)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	m, err := b.Merge(b.t.Context(), id, patch, root)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// write does what a merge says.
func (b bench) write(m Merge) {
	b.t.Helper()
	for _, f := range m.Files {
		path := filepath.Join(b.folder, f.Path)
		var err error
		if f.Gone {
			err = os.Remove(path)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, f.Data, 0o644)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

const function = "package sum\n\nfunc Sum(a, b int) int {\n\treturn a + b\n}\n\n// End is\n// the\n// last.\nfunc End() {}\n"

func TestTwoPatchesOfOneFunctionAreAConflictAndNothingIsLost(t *testing.T) {
	b := newBench(t, map[string]string{"sum.go": function})
	one, two := b.plant("one", ""), b.plant("two", "")
	first := strings.ReplaceAll(function, "a + b", "b + a")
	lay(t, one, map[string]string{"sum.go": first})
	lay(t, two, map[string]string{"sum.go": strings.ReplaceAll(function, "a + b", "a - -b")})
	p1, p2 := b.patch("one"), b.patch("two")
	want := []File{{Path: "sum.go", Change: "modified", Added: 1, Removed: 1}}
	if diff := cmp.Diff([][]File{want, want}, [][]File{p1.Files, p2.Files}); diff != "" {
		t.Error(diff)
	}
	b.write(b.merge("one", p1.Text))
	if diff := cmp.Diff(map[string]string{"sum.go": first}, held(t, b.folder)); diff != "" {
		t.Error(diff)
	}
	got := b.merge("two", p2.Text)
	conflict := Merge{Paths: []string{"sum.go"}, Conflicts: []Conflict{{Path: "sum.go", Kind: ConflictContent, Hunks: []Hunk{
		{Base: "\treturn a + b\n", Ours: "\treturn b + a\n", Theirs: "\treturn a - -b\n"},
	}}}}
	if diff := cmp.Diff(conflict, got); diff != "" {
		t.Error(diff)
	}
	again := b.merge("one", p1.Text)
	if diff := cmp.Diff(Merge{Paths: []string{"sum.go"}}, again); diff != "" {
		t.Errorf("merged again: %s", diff)
	}
}

func TestChangesOfDifferentPlacesAreBothKept(t *testing.T) {
	b := newBench(t, map[string]string{"sum.go": function, "gone.txt": "x\n", "run.sh": "#!/bin/sh\n"})
	one, two := b.plant("one", ""), b.plant("two", "")
	lay(t, one, map[string]string{"sum.go": strings.ReplaceAll(function, "a + b", "b + a"), "deep/new.txt": "new\n"})
	lay(t, two, map[string]string{"sum.go": strings.ReplaceAll(function, "func End() {}", "func End() { Sum(1, 2) }")})
	if err := os.Remove(filepath.Join(two, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(two, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"one", "two"} {
		m := b.merge(id, b.patch(id).Text)
		if len(m.Conflicts) > 0 {
			t.Fatalf("%s: %v", id, m.Conflicts)
		}
		b.write(m)
	}
	want := map[string]string{
		"sum.go":       strings.ReplaceAll(strings.ReplaceAll(function, "a + b", "b + a"), "func End() {}", "func End() { Sum(1, 2) }"),
		"deep/new.txt": "new\n", "run.sh": "#!/bin/sh\n",
	}
	if diff := cmp.Diff(want, held(t, b.folder)); diff != "" {
		t.Error(diff)
	}
}

func TestKindsOfConflicts(t *testing.T) {
	b := newBench(t, map[string]string{"deleted": "1\n", "changed": "1\n", "picture": "\x00\x01\x02", "link": "1\n"})
	tree := b.plant("one", "")
	lay(t, tree, map[string]string{"deleted": "2\n", "picture": "\x00\x01\x03", "both": "2\n", "link": "2\n"})
	if err := os.Remove(filepath.Join(tree, "changed")); err != nil {
		t.Fatal(err)
	}
	p := b.patch("one")
	lay(t, b.folder, map[string]string{"changed": "3\n", "picture": "\x00\x01\x04", "both": "3\n"})
	if err := os.Remove(filepath.Join(b.folder, "deleted")); err != nil {
		t.Fatal(err)
	}
	kinds := func() map[string]ConflictKind {
		out := map[string]ConflictKind{}
		for _, c := range b.merge("one", p.Text).Conflicts {
			out[c.Path] = c.Kind
		}
		return out
	}
	want := map[string]ConflictKind{
		"deleted": ConflictModifyDelete, "changed": ConflictModifyDelete, "picture": ConflictBinary, "both": ConflictAddAdd,
	}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(filepath.Join(b.folder, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("changed", filepath.Join(b.folder, "link")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]ConflictKind{"link": ConflictNoFile}, kinds()); diff != "" {
		t.Error(diff)
	}
}

// TestEachStepMayBeRunAgain makes, takes and removes trees like a process that died in between.
func TestEachStepMayBeRunAgain(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	tree := b.plant("one", "")
	lay(t, tree, map[string]string{"a.txt": "two\n"})
	lay(t, b.folder, map[string]string{"a.txt": "meanwhile\n"})
	b.plant("one", "")
	if diff := cmp.Diff(map[string]string{"a.txt": "two\n"}, held(t, tree)); diff != "" {
		t.Errorf("made again: %s", diff)
	}
	first := b.patch("one")
	if diff := cmp.Diff(first, b.patch("one")); diff != "" {
		t.Errorf("taken again: %s", diff)
	}
	for range 2 {
		if err := b.Remove("one"); err != nil {
			t.Fatal(err)
		}
	}
	b.plant("one", "")
	if diff := cmp.Diff(map[string]string{"a.txt": "one\n"}, held(t, tree)); diff != "" {
		t.Errorf("begun and made later: %s", diff)
	}
	if _, err := b.Patch(t.Context(), "other"); err == nil {
		t.Error("there is a patch of a tree that was never made")
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, "scratch-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestATreeMayBeMadeFromATree(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	lay(t, b.plant("parent", ""), map[string]string{"a.txt": "two\n"})
	child := b.plant("child", "parent")
	if diff := cmp.Diff(map[string]string{"a.txt": "two\n"}, held(t, child)); diff != "" {
		t.Error(diff)
	}
	if got := b.patch("child"); got.Text != "" || len(got.Files) > 0 {
		t.Errorf("nothing was changed, and the patch is %v", got)
	}
}

func TestAPatchKeepsEveryByte(t *testing.T) {
	files := map[string]string{
		"latin.txt": "caf\xe9\n", "crlf.txt": "a\r\nb\r\n", "noend": "x", "empty": "", "odd näme \"q\"\t.txt": "1\n",
		"ünï/x": "1\n", "--help": "1\n", ":(top)x": "1\n",
	}
	b := newBench(t, files)
	tree := b.plant("one", "")
	if diff := cmp.Diff(files, held(t, tree)); diff != "" {
		t.Fatal(diff)
	}
	for name := range files {
		files[name] += "\xff\xfe\r\nmore\n"
	}
	lay(t, tree, files)
	b.write(b.merge("one", b.patch("one").Text))
	if diff := cmp.Diff(files, held(t, b.folder)); diff != "" {
		t.Error(diff)
	}
}

func TestIgnoredFilesStayWhereTheyAre(t *testing.T) {
	b := newBench(t, map[string]string{".gitignore": "*.log\n", "x.log": "1\n", "a.txt": "1\n", ".git/info/exclude": "secret\n", "secret": "1\n"})
	tree := b.plant("one", "")
	if diff := cmp.Diff(map[string]string{".gitignore": "*.log\n", "a.txt": "1\n"}, held(t, tree)); diff != "" {
		t.Error(diff)
	}
	lay(t, tree, map[string]string{".gitignore": "*\n", "y.log": "2\n"})
	want := []File{{Path: ".gitignore", Change: "modified", Added: 1, Removed: 1}}
	if diff := cmp.Diff(want, b.patch("one").Files); diff != "" {
		t.Errorf("what was copied and is ignored later is no deletion: %s", diff)
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	folder := t.TempDir()
	if _, err := Open(t.Context(), filepath.Join(folder, "data"), folder); err == nil || !strings.Contains(err.Error(), "data_dir") {
		t.Errorf("trees inside of the workspace: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), t.TempDir(), folder); err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("no git: %v", err)
	}
}

// git runs the person's git in a folder.
func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=p", "GIT_AUTHOR_EMAIL=p@x",
		"GIT_COMMITTER_NAME=p", "GIT_COMMITTER_EMAIL=p@x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestARepositoryIsLeftAlone works beside a repository with things staged, changed and untracked.
func TestARepositoryIsLeftAlone(t *testing.T) {
	folder := t.TempDir()
	git(t, folder, "init", "-q", "-b", "main")
	lay(t, folder, map[string]string{"a.txt": "1\n", "b.txt": "1\n"})
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-qm", "first")
	git(t, folder, "branch", "other")
	lay(t, folder, map[string]string{"a.txt": "staged\n", "c.txt": "untracked\n"})
	git(t, folder, "add", "a.txt")
	lay(t, folder, map[string]string{"b.txt": "changed\n"})
	look := func() map[string]string {
		out := map[string]string{}
		for _, question := range []string{"status --porcelain", "for-each-ref", "worktree list", "stash list", "diff", "diff --cached", "count-objects -v", "config --list --local"} {
			out[question] = git(t, folder, strings.Fields(question)...)
		}
		index, err := os.ReadFile(filepath.Join(folder, ".git", "index"))
		if err != nil {
			t.Fatal(err)
		}
		out["index"] = string(index)
		return out
	}
	look() // which refreshes the index
	before := look()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "trees"), folder)
	if err != nil {
		t.Fatal(err)
	}
	b := bench{Store: s, t: t}
	tree := b.plant("one", "")
	want := map[string]string{"a.txt": "staged\n", "b.txt": "changed\n", "c.txt": "untracked\n"}
	if diff := cmp.Diff(want, held(t, tree)); diff != "" {
		t.Errorf("the tree: %s", diff)
	}
	lay(t, tree, map[string]string{"c.txt": "more\n"})
	m := b.merge("one", b.patch("one").Text)
	if err := b.Remove("one"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Error(diff)
	}
	b.write(m)
	if got := git(t, folder, "status", "--porcelain"); got != "M  a.txt\n M b.txt\n?? c.txt\n" {
		t.Errorf("after the merge the person sees\n%s", got)
	}
}
