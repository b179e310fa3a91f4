package builtin_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// gitLists is what git itself would look at in a folder.
func gitLists(t rapidTB, dir string) []string {
	git := func(args ...string) []byte {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %s: %v", args, err)
		}
		return out
	}
	if _, err := os.Stat(dir + "/.git"); err != nil {
		git("init", "-q")
	}
	var names []string
	for name := range bytes.SplitSeq(git("ls-files", "--others", "--cached", "--exclude-standard", "-z"), []byte{0}) {
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

type rapidTB interface{ Fatalf(string, ...any) }

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is what the rules are held against, and it is not installed")
	}
}

func globbed(text string) []string {
	names := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(names)
	return names
}

func TestIgnoreRulesAreGits(t *testing.T) {
	needGit(t)
	files := map[string]string{
		".gitignore": "\uFEFF# comment\n*.log\r\n!keep.log\n/root-only\nfolder/\ndoc/*.txt\na/**/z\n**/temp\nlogs/**\n" +
			"trail   \nspaced\\ \n\\#hash\n\\!bang\n[abc].x\n[!a-c].y\n[[:digit:]]?.num\nfoo**bar\n[\n[]x].w\nback\\\n" +
			"sla[/]sh\nsla[+-9]sh2\n/one/*/three\nx.d/*\n!x.d/in\n\n   \n/\n!\n",
		"sub/.gitignore": "!*.log\nkeep.log\n/deep/only\nother\n",
		"sub/deep/a.log": "", "sub/keep.log": "", "sub/deep/only": "", "sub/deep/deep/only": "", "sub/other/x": "",
		"linked/.gitignore": "->rules", "linked/rules": "*.zip\n", "linked/a.zip": "",
		"a.log": "", "keep.log": "", "root-only": "", "sub/root-only": "", "folder/x": "", "sub/folder": "",
		"doc/a.txt": "", "doc/sub/a.txt": "", "a/z": "", "a/b/z": "", "a/b/c/z": "", "a/b/zz": "", "temp": "", "q/temp/x": "",
		"logs/x": "", "logs/y/z": "", "q/logs/x": "", "trail": "", "spaced ": "", "spaced": "", "#hash": "", "!bang": "",
		"a.x": "", "d.x": "", "a.y": "", "d.y": "", "1q.num": "", "qq.num": "", "fooxbar": "", "foo/bar": "", "foobar": "",
		"].w": "", "x.w": "", "y.w": "", "back": "", "sla/sh": "", "sla/sh2": "", "sla.sh2": "", "one/two/three": "", "one/three": "",
		"x.d/in": "", "x.d/out": "", "b/x.d/out": "", "ünï.log": "", "link.log": "->a.log", "link": "->folder", "sub/.hidden": "",
	}
	dir := tree(t, files)
	want := gitLists(t, dir)
	must(t, os.WriteFile(dir+"/.git/info/exclude", []byte("y.w\n"), 0o644))
	if again := gitLists(t, dir); len(again) != len(want)-1 {
		t.Fatalf("git did not read .git/info/exclude: %v", again)
	}
	want = gitLists(t, dir)
	got := globbed(ask(t, openSet(t, dir), "glob", `{"pattern":"**"}`).Text)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("git (-) against glob (+):\n%s", diff)
	}
	below := slices.DeleteFunc(slices.Clone(want), func(n string) bool { return !strings.HasPrefix(n, "sub/deep/") })
	got = globbed(ask(t, openSet(t, dir), "glob", `{"pattern":"**","path":"sub/deep"}`).Text)
	if diff := cmp.Diff(below, got); diff != "" {
		t.Errorf("git (-) against glob in a folder (+):\n%s", diff)
	}
}

func TestRandomIgnoreRulesAreGits(t *testing.T) {
	needGit(t)
	var names []string
	for _, a := range []string{"a", "b", "ab", "a.b"} {
		for _, b := range []string{"", "a/", "b/", "a.b/"} {
			for _, c := range []string{"", "b/"} {
				names = append(names, "d"+a+"/"+b+c+"f"+a, "d"+a+"/"+b+c+"g")
			}
		}
	}
	files := map[string]string{}
	for _, n := range names {
		files[n] = ""
	}
	dir := tree(t, files)
	gitLists(t, dir)
	s := openSet(t, dir)
	piece := rapid.SampledFrom([]string{"a", "b", "d", "f", "*", "**", "/", "/", "?", "[a-b]", "[!a]", ".", "a.b", "**/", "/**", "\\a", "da", "fb", "g"})
	line := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "", "", "!"}).Draw(t, "back") + strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "") +
			rapid.SampledFrom([]string{"", "", "/", " "}).Draw(t, "end")
	})
	rapid.Check(t, func(r *rapid.T) {
		for _, at := range []string{"", "da/", "da/b/"} {
			text := strings.Join(rapid.SliceOfN(line, 0, 4).Draw(r, "rules in "+at), "\n") + "\n"
			if err := os.WriteFile(dir+"/"+at+".gitignore", []byte(text), 0o644); err != nil {
				r.Fatalf("write: %v", err)
			}
		}
		want := gitLists(r, dir)
		got := globbed(ask(t, s, "glob", `{"pattern":"**"}`).Text)
		if len(want) == 0 {
			want = []string{"No file fits **. Files that git ignores are not listed."}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("git (-) against glob (+):\n%s", diff)
		}
	})
}
