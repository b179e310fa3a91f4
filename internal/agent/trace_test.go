package agent_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
)

// TestTrace compares the ids that scripts and tests claim to show with the core's list of
// requirements.
func TestTrace(t *testing.T) {
	text, err := os.ReadFile("testdata/core.list")
	if err != nil {
		t.Fatal(err)
	}
	list, problems := readList(string(text))
	problems = append(problems, list.gaps()...)
	named, err := namedIDs(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	covered, faults := list.hold(named)
	measure.Figure(t, "trace: %d requirements covered / %d in all", covered, len(list.core))
	for _, p := range append(problems, faults...) {
		t.Error(p)
	}
}

// requirements is the checked-in list: the statement of each id, and the home of those that are not
// the core's.
type requirements struct {
	core, elsewhere map[string]string
}

// notCore heads the second part of the list.
const notCore = "# not the core's"

var idPattern = regexp.MustCompile(`^([RE]-\d{2,3}|P\d{1,2})$`)

// readList reads the list and returns its faults.
func readList(text string) (requirements, []string) {
	list := requirements{core: map[string]string{}, elsewhere: map[string]string{}}
	part := list.core
	var problems []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == notCore {
			part = list.elsewhere
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, statement, _ := strings.Cut(line, " ")
		statement = strings.TrimSpace(statement)
		switch {
		case !idPattern.MatchString(id) || statement == "":
			problems = append(problems, fmt.Sprintf("the list has a line without id or statement: %q", line))
		case list.core[id] != "" || list.elsewhere[id] != "":
			problems = append(problems, "the list has "+id+" twice")
		default:
			part[id] = statement
		}
	}
	return list, problems
}

// sections are the ids that the list must decide about.
var sections = []struct {
	format   string
	from, to int
}{
	{"R-%03d", 1, 18},
	{"R-%03d", 45, 187},
	{"R-%03d", 253, 266},
	{"E-%02d", 1, 16},
	{"E-%02d", 20, 31},
	{"E-%02d", 40, 53},
	{"E-%02d", 60, 78},
	{"E-%02d", 80, 94},
	{"E-%02d", 100, 110},
	{"P%d", 4, 5},
	{"P%d", 7, 8},
	{"P%d", 10, 10},
	{"P%d", 24, 25},
}

// gaps are the ids of those sections that the list forgets.
func (r requirements) gaps() []string {
	var out []string
	for _, s := range sections {
		for n := s.from; n <= s.to; n++ {
			if id := fmt.Sprintf(s.format, n); r.core[id] == "" && r.elsewhere[id] == "" {
				out = append(out, "the list does not say whose "+id+" is")
			}
		}
	}
	return out
}

// hold counts the ids that are named and says which are missing, unknown, or named although they
// are not the core's.
func (r requirements) hold(named map[string][]string) (covered int, faults []string) {
	for _, id := range slices.Sorted(maps.Keys(r.core)) {
		if len(named[id]) > 0 {
			covered++
			continue
		}
		faults = append(faults, fmt.Sprintf("missing %s: %s", id, r.core[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(named)) {
		where := strings.Join(named[id], ", ")
		if belongs := r.elsewhere[id]; belongs != "" {
			faults = append(faults, fmt.Sprintf("%s is not the core's (%s) and is named by %s", id, belongs, where))
		} else if r.core[id] == "" {
			faults = append(faults, fmt.Sprintf("unknown %s is named by %s", id, where))
		}
	}
	return covered, faults
}

// namedIDs reads the ids out of the scripts and tests, and where each is named. The file system is
// that of internal.
func namedIDs(internal fs.FS) (map[string][]string, error) {
	named := map[string][]string{}
	note := func(where, ids string) {
		for _, id := range strings.FieldsFunc(ids, func(r rune) bool { return strings.ContainsRune(" ,.\n", r) }) {
			named[id] = append(named[id], where)
		}
	}
	scripts, err := fs.Glob(internal, "agent/testdata/*.txt")
	if err != nil {
		return nil, err
	}
	for _, file := range scripts {
		text, err := fs.ReadFile(internal, file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if ids, ok := strings.CutPrefix(line, "# covers:"); ok {
				note(strings.TrimSuffix(path.Base(file), ".txt"), ids)
			}
		}
	}
	tests, err := fs.Glob(internal, "chat/*_test.go")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(internal, "agent", func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, "_test.go") {
			tests = append(tests, file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, file := range tests {
		if err := namedInTests(internal, file, note); err != nil {
			return nil, err
		}
	}
	return named, nil
}

// namedInTests reads the ids after "Covers:" in the comments above the tests of a file.
func namedInTests(internal fs.FS, file string, note func(where, ids string)) error {
	text, err := fs.ReadFile(internal, file)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Doc == nil || !strings.HasPrefix(f.Name.Name, "Test") {
			continue
		}
		if _, ids, ok := strings.Cut(f.Doc.Text(), "Covers:"); ok {
			note(f.Name.Name, ids)
		}
	}
	return nil
}

// TestTraceNotices shows that the trace itself reports ids that are missing, unknown, doubled or
// claimed wrongly.
func TestTraceNotices(t *testing.T) {
	internal := fstest.MapFS{
		"agent/testdata/spawn.txt": {Data: []byte("# Spawns.\n# covers: R-001 E-47 E-99\n\nbegin\n----\n# covers nothing\n")},
		"agent/testdata/more.txt":  {Data: []byte("# covers: R-001 P8x\n")},
		"agent/a_test.go": {Data: []byte("package a\n\n// TestA is a test.\n//\n// Covers: P4, E-69,\n// E-48.\n" +
			"func TestA() {}\n\n// Covers: R-009.\nfunc helper() {}\n")},
		"agent/sim/b_test.go": {Data: []byte("package sim\n\n// Covers: R-003.\nfunc TestB() {}\n")},
		"agent/c.go":          {Data: []byte("package a\n\n// Covers: R-004.\nfunc TestC() {}\n")},
		"chat/d_test.go":      {Data: []byte("package chat\n\n// Covers: R-005.\nfunc TestD() {}\n")},
	}
	named, err := namedIDs(internal)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"R-001": {"more", "spawn"}, "E-47": {"spawn"}, "E-99": {"spawn"}, "P8x": {"more"},
		"P4": {"TestA"}, "E-69": {"TestA"}, "E-48": {"TestA"}, "R-003": {"TestB"}, "R-005": {"TestD"},
	}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("named ids (-want +got):\n%s", diff)
	}

	list, problems := readList("# head\n\nR-001  one\nR-003  three\nR-005  five\nR-009  nine\nE-47  order\nE-48  saved\n" +
		"P4  outcome\nE-47  again\nR-010\nsomething else\n" + notCore + "\nE-69  host: fresh context\nR-001  journal\n")
	wantProblems := []string{
		"the list has E-47 twice",
		`the list has a line without id or statement: "R-010"`,
		`the list has a line without id or statement: "something else"`,
		"the list has R-001 twice",
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Errorf("problems of the list (-want +got):\n%s", diff)
	}
	covered, faults := list.hold(named)
	wantFaults := []string{
		"missing R-009: nine",
		"E-69 is not the core's (host: fresh context) and is named by TestA",
		"unknown E-99 is named by spawn",
		"unknown P8x is named by more",
	}
	if diff := cmp.Diff(wantFaults, faults); diff != "" || covered != 6 {
		t.Errorf("%d covered, want 6; faults (-want +got):\n%s", covered, diff)
	}
	if gaps := list.gaps(); !slices.Contains(gaps, "the list does not say whose R-002 is") ||
		slices.Contains(gaps, "the list does not say whose R-001 is") {
		t.Errorf("gaps of the list: %q", gaps)
	}
}
