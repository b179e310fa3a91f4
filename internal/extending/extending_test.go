// Package extending has the examples of docs/extending.md as diffs and applies each to a copy of
// the tree: the go command checks a copy with the change in it, and runs the test that the example
// brings. It imports nothing of ours.
package extending

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is the top of the repository.
const root = "../.."

// example is a section of the page with the diff that shows it.
type example struct {
	heading, diff string
	// most is how many files the change may touch, its tests apart.
	most int
	// vet is what must still build, and test where the example's own test is.
	vet  []string
	test string
}

var examples = []example{
	{
		heading: "A tool", diff: "tool.diff", most: 5,
		vet: []string{"./internal/tool/builtin", "./internal/config/role", "./internal/toolbox"}, test: "./internal/tool/builtin",
	},
	{
		heading: "A model provider", diff: "provider.diff", most: 8,
		vet: []string{"./internal/model/ollama", "./internal/config", "./internal/cast"}, test: "./internal/model/ollama",
	},
	{
		heading: "A role field", diff: "field.diff", most: 6,
		vet: []string{"./internal/config/...", "./internal/cli/roles"}, test: "./internal/config/prompt",
	},
	{
		heading: "An HTTP route", diff: "route.diff", most: 3, // and a generated one
		vet: []string{"./wire", "./internal/api", "./client"}, test: "./client",
	},
	{
		heading: "An event kind", diff: "event.diff", most: 8, // and a generated one
		vet: []string{"./internal/journal", "./internal/audit", "./internal/events", "./internal/api", "./client"}, test: "./client",
	},
}

// TestExamples applies each example and has the go command check and run it.
func TestExamples(t *testing.T) {
	for _, e := range examples {
		t.Run(e.heading, func(t *testing.T) {
			dir := e.tree(t)
			run(t, dir, append([]string{"vet"}, e.vet...)...)
			run(t, dir, "test", "-run", "^("+strings.Join(e.tests(t), "|")+")$", e.test)
		})
	}
}

// TestPageListsTheFiles compares the numbered list of each section with the files that its diff
// touches, and their number with the aim.
func TestPageListsTheFiles(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		_, section, ok := strings.Cut(string(page), "\n## "+e.heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !ok || !strings.Contains(section, "internal/extending/testdata/"+e.diff) {
			t.Errorf("docs/extending.md has no section %q that names %s", e.heading, e.diff)
		}
		var listed []string
		for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`").FindAllStringSubmatch(section, -1) {
			listed = append(listed, m[1])
		}
		slices.Sort(listed)
		touched := e.files(t)
		if diff := cmp.Diff(touched, listed); diff != "" {
			t.Errorf("%s: the diff touches (-), the page lists (+):\n%s", e.heading, diff)
		}
		t.Logf("%s: %d files", e.heading, len(touched))
		if len(touched) > e.most {
			t.Errorf("%s touches %d files, more than %d", e.heading, len(touched), e.most)
		}
	}
}

// TestADiffThatDoesNotFitIsNoticed applies a change to a text that the tree does not have.
func TestADiffThatDoesNotFitIsNoticed(t *testing.T) {
	for _, text := range []string{
		"+++ b/internal/config/role/tools.go\n@@ -1 +1 @@\n-no such line\n+another\n",
		"+++ b/docs/extending.md\n@@ -0,0 +1 @@\n+a file that exists\n",
	} {
		if _, err := readDiff(text)[0].apply(root); err == nil {
			t.Errorf("applied: %s", text)
		}
	}
}

func (e example) changes(t *testing.T) []change {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", e.diff))
	if err != nil {
		t.Fatal(err)
	}
	return readDiff(string(text))
}

// files are the files that an example touches, without tests, sorted.
func (e example) files(t *testing.T) (files []string) {
	t.Helper()
	for _, c := range e.changes(t) {
		if !strings.HasSuffix(c.path, "_test.go") {
			files = append(files, c.path)
		}
	}
	slices.Sort(files)
	return files
}

// tests are the tests that an example adds.
func (e example) tests(t *testing.T) (names []string) {
	t.Helper()
	for _, c := range e.changes(t) {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(c.hunks[0].new, -1) {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		t.Fatal("the example has no test")
	}
	return names
}

// copied is what an example's packages are built from and tested with.
var copied = []string{"client", "docs", "internal", "wire"}

// tree copies the repository's packages, and applies the example to the copy.
func (e example) tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range copied {
		must(t, os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, part))))
	}
	for _, pattern := range []string{"go.*", "web/*.go"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		must(t, err)
		for _, name := range names {
			data, err := os.ReadFile(name)
			must(t, err)
			to := filepath.Join(dir, strings.TrimPrefix(name, root))
			must(t, os.MkdirAll(filepath.Dir(to), 0o700))
			must(t, os.WriteFile(to, data, 0o600))
		}
	}
	for _, c := range e.changes(t) {
		text, err := c.apply(root)
		if err != nil {
			t.Fatalf("%s does not fit the tree any more: %v", e.diff, err)
		}
		name := filepath.Join(dir, c.path)
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the go command at the top of a tree. The build cache knows what did not change by its
// content, not by its place.
func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0") // as all programs are built: the cache has the rest
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
