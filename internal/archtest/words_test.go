package archtest

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const glossary = "docs/glossary.md"

// TestRetiredWords checks the names in Go code, the documents, the comments, the messages and the
// screen against the glossary's list of words that were replaced.
func TestRetiredWords(t *testing.T) {
	words, err := RetiredWords(read(t, glossary))
	if err != nil {
		t.Fatal(err)
	}
	found := RetiredNames(repository(t), words)
	for _, name := range texts(t) {
		text := read(t, name)
		if name == glossary {
			text, _, _ = strings.Cut(text, "\n## Retired words\n")
		}
		found = append(found, RetiredText(name, text, words)...)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// texts are the files with words that people read.
func texts(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (ignored(d.Name()) && name != "." || slices.Contains([]string{"node_modules", "dist", "generated", "bin"}, d.Name())):
			return fs.SkipDir
		case slices.Contains([]string{".go", ".md", ".ts", ".tsx", ".sql", ".yaml", ".mjs"}, path.Ext(name)) && name != "CHANGELOG.md" && name != "internal/archtest/words_test.go":
			names = append(names, name)
		}
		return nil
	})
	if err != nil || len(names) < 500 {
		t.Fatalf("found %d texts: %v", len(names), err)
	}
	return names
}

func TestTheGlossaryIsShort(t *testing.T) {
	table, _, _ := strings.Cut(read(t, glossary), "\n## ")
	if n := strings.Count(table, "\n| ") - 1; n > 45 || n < 30 {
		t.Errorf("the glossary has %d entries, at most 45", n)
	}
}

func TestARetiredWordIsFound(t *testing.T) {
	words, err := RetiredWords("x\n## Retired words\n\n| word | say | where |\n|---|---|---|\n| grove | worktrees | everywhere |\n| desk | cache | names |\n")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Load(fstest.MapFS{
		"go.mod": {Data: []byte("module m\n")},
		"a/a.go": {Data: []byte("package a\n\n// A desk.\ntype newDesk struct{ Groves int }\n\nfunc f(deskOf, deskless int) { leftDesk := 1; _ = leftDesk }\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range RetiredNames(tree, words) {
		names = append(names, v.What)
	}
	want := []string{"newDesk: say cache", "Groves: say worktrees", "deskOf: say cache", "leftDesk: say cache"}
	slices.Sort(want)
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	in := RetiredText("x.md", "A desk in a grove.\nTwo Groves, ingrove.\n", words)
	if len(in) != 2 || in[0].At != "x.md:1" || in[1].At != "x.md:2" {
		t.Errorf("in the text: %v", in)
	}
	for _, text := range []string{"", "\n## Retired words\n"} {
		if _, err := RetiredWords(text); err == nil {
			t.Errorf("a glossary without retired words was accepted: %q", text)
		}
	}
}

func TestWordsOfNames(t *testing.T) {
	for name, want := range map[string][]string{
		"newLoginLimiter": {"new", "login", "limiter"}, "MCPDesk": {"mcp", "desk"}, "api_key": {"api", "key"}, "RunID": {"run", "id"}, "x": {"x"}, "_": {""},
	} {
		if diff := cmp.Diff(want, wordsOf(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
