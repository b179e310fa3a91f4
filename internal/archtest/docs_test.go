package archtest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocsListThePackagesThatExist(t *testing.T) {
	var exist []string
	for _, p := range repository(t).Packages {
		exist = append(exist, p.Dir)
	}
	const name = "docs/architecture.md"
	listed, err := ListedPackages(read(t, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if diff := cmp.Diff(exist, listed); diff != "" {
		t.Errorf("%s (+) against the packages that exist (-), by path:\n%s", name, diff)
	}
}

// documents are the texts that promise something.
func documents(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS(root), "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(names, "README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md")
}

func TestDocsNameTargetsThatExist(t *testing.T) {
	makefile := read(t, "Makefile")
	named := regexp.MustCompile("(?m)(?:^|`)make ([a-z0-9/-]+)")
	for _, name := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(read(t, name), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which is no target", name, m[1])
			}
		}
	}
}

// TestDocsNameTestsThatExist checks that the tests that documents name as proof exist.
func TestDocsNameTestsThatExist(t *testing.T) {
	declared, named := regexp.MustCompile(`(?m)^func (Test\w+)\(`), regexp.MustCompile(`\b(Test[A-Z]\w+)(\*?)`)
	exist := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && name != ".") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(name, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(read(t, name), -1) {
				exist[m[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(read(t, name), -1) {
			if found++; !exist[m[1]] && m[2] == "" {
				t.Errorf("%s names %s, which is no test", name, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("documents name %d tests: the names are not found", found)
	}
}

func TestADocumentWithoutATreeIsAnError(t *testing.T) {
	for _, text := range []string{"", "\n```\na\n```\n", "\n```tree\na"} {
		if _, err := ListedPackages(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	listed, err := ListedPackages("x\n```tree\na/b  words\n\nc\n```\ny")
	if diff := cmp.Diff([]string{"a/b", "c"}, listed); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestEveryDependencyHasItsReasonWritten(t *testing.T) {
	direct := regexp.MustCompile(`(?m)^(?:require )?\t?([\w.-]+\.[\w.-]+/\S+) v\S+$`)
	tool := regexp.MustCompile(`(?m)^\t([\w.-]+\.[\w.-]+/\S+)$`)
	reasons := read(t, "docs/dependencies.md")
	var named [][]string
	named = append(named, direct.FindAllStringSubmatch(read(t, "go.mod"), -1)...)
	named = append(named, direct.FindAllStringSubmatch(read(t, "standalone/go.mod"), -1)...)
	named = append(named, tool.FindAllStringSubmatch(read(t, "tools/go.mod"), -1)...)
	if len(named) < 3 {
		t.Fatalf("found only %v in the three go.mod files", named)
	}
	module := repository(t).Module
	for _, m := range named {
		if m[1] != module && !strings.Contains(reasons, "`"+m[1]+"`") {
			t.Errorf("docs/dependencies.md does not say why `%s` is here", m[1])
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(path.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
