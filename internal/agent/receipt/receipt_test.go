package receipt_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent/receipt"
)

// changed is a file that was changed at a time.
func changed(path, before, after string, at int64) receipt.Change {
	return receipt.Change{Path: path, Before: before, After: after, First: at, Last: at}
}

// tested is a test command that was counted.
func tested(line string, passed, failed int, at int64) receipt.Command {
	exit := 0
	if failed > 0 {
		exit = 1
	}
	return receipt.Command{Line: line, Exit: exit, Tests: &receipt.Tests{Passed: passed, Failed: failed}, At: at}
}

// facts adds up what calls did.
func facts(parts ...any) receipt.Evidence {
	var e receipt.Evidence
	for _, part := range parts {
		var one receipt.Evidence
		switch p := part.(type) {
		case receipt.Change:
			one.Changed = []receipt.Change{p}
		case receipt.Command:
			one.Commands = []receipt.Command{p}
		case receipt.File:
			one.Read = []receipt.File{p}
		case receipt.Page:
			one.Pages = []receipt.Page{p}
		case receipt.Evidence:
			one = p
		default:
			panic(fmt.Sprintf("%T is no fact", part))
		}
		e.Add(one)
	}
	return e
}

var (
	partial = receipt.Evidence{Partial: true}
	perhaps = receipt.Evidence{Perhaps: 1}
)

// TestFiles has a row for each rule on claimed files.
//
//
func TestFiles(t *testing.T) {
	edit := changed("a.go", "1", "2", 10)
	made := changed("new.go", "", "1", 10)
	cases := []struct {
		name, args string
		facts      receipt.Evidence
		verdict    receipt.Verdict
		want       []string
		unclaimed  []string
	}{
		{"nothing claimed, nothing done", `{"summary":"x"}`, facts(), receipt.None, nil, nil},
		{"nothing claimed, something done", `{}`, facts(edit), receipt.None, nil, []string{"a.go"}},
		{"changed", `{"files_modified":["a.go"]}`, facts(edit), receipt.Verified, []string{"modified a.go"}, nil},
		{
			"the same file by another spelling", `{"files_modified":["./sub/../a.go"," a.go"]}`, facts(edit), receipt.Verified,
			[]string{"modified a.go"},
			nil,
		},
		{"an absolute path", `{"files_modified":["/w/a.go"]}`, facts(edit), receipt.Verified, []string{"modified /w/a.go"}, nil},
		{
			"the nearest of two by an absolute path", `{"files_created":["/w/sub/a.go"]}`,
			facts(edit, changed("sub/a.go", "", "1", 11)), receipt.Verified,
			[]string{"created /w/sub/a.go"},
			[]string{"a.go"},
		},
		{
			"never touched", `{"files_modified":["b.go"]}`, facts(edit), receipt.Contradicted,
			[]string{"modified b.go: nothing in the run touched it"},
			[]string{"a.go"},
		},
		{
			"never touched, one not a part of the name", `{"files_modified":["/w/ba.go"]}`, facts(edit), receipt.Contradicted,
			[]string{"modified /w/ba.go: nothing in the run touched it"},
			[]string{"a.go"},
		},
		{
			"only read", `{"files_modified":["a.go"]}`, facts(receipt.File{Path: "a.go", Hash: "1"}), receipt.Contradicted,
			[]string{"modified a.go: it was only read"},
			nil,
		},
		{
			"perhaps touched: files were not all looked at", `{"files_modified":["b.go"]}`, facts(partial), receipt.Unverified,
			[]string{"modified b.go: it may have been changed by a call that could not be looked into"},
			nil,
		},
		{
			"perhaps touched: a call of which nobody knows", `{"files_created":["b.go"]}`, facts(perhaps), receipt.Unverified,
			[]string{"created b.go: it may have been changed by a call that could not be looked into"},
			nil,
		},
		{"created", `{"files_created":["new.go"]}`, facts(made), receipt.Verified, []string{"created new.go"}, nil},
		{
			"created and claimed as both", `{"files_created":["new.go"],"files_modified":["new.go"]}`, facts(made), receipt.Verified,
			[]string{"created new.go"},
			nil,
		},
		{
			"created and claimed as modified", `{"files_modified":["new.go"]}`, facts(made), receipt.Verified,
			[]string{"created new.go: it was created by the run"},
			nil,
		},
		{
			"claimed as created, but there before", `{"files_created":["a.go"]}`, facts(edit), receipt.Contradicted,
			[]string{"created a.go: it was there before the run"},
			nil,
		},
		{
			"created and deleted", `{"files_created":["new.go"]}`, facts(made, changed("new.go", "1", "", 11)), receipt.Contradicted,
			[]string{"created new.go: it is not there any more"},
			nil,
		},
		{
			"deleted", `{"files_modified":["a.go"]}`, facts(changed("a.go", "1", "", 10)), receipt.Verified,
			[]string{"modified a.go: it was deleted"},
			nil,
		},
		{
			"changed and changed back", `{"files_modified":["a.go"]}`, facts(edit, changed("a.go", "2", "1", 11)),
			receipt.Contradicted,
			[]string{"modified a.go: it is as it was before the run"},
			nil,
		},
		{
			"changed back, and perhaps again", `{"files_modified":["a.go"]}`, facts(edit, changed("a.go", "2", "1", 11), perhaps),
			receipt.Unverified,
			[]string{"modified a.go: it is as it was before the run"},
			nil,
		},
		{
			"changed back, told in another order", `{"files_modified":["a.go"]}`, facts(changed("a.go", "2", "1", 11), edit),
			receipt.Contradicted,
			[]string{"modified a.go: it is as it was before the run"},
			nil,
		},
		{
			"written with what it held", `{"files_modified":["a.go"]}`, facts(changed("a.go", "1", "1", 10)), receipt.Contradicted,
			[]string{"modified a.go: it is as it was before the run"},
			nil,
		},
		{
			"a folder for what is in it", `{"files_modified":["sub/"]}`, facts(changed("sub/a.go", "1", "2", 10)), receipt.Verified,
			[]string{"modified sub"},
			nil,
		},
		{
			"the worst counts", `{"files_modified":["b.go","a.go"]}`, facts(edit), receipt.Contradicted,
			[]string{"modified b.go: nothing in the run touched it", "modified a.go"},
			nil,
		},
		{
			"changed by a command that knows not what it held", `{"files_modified":["a.go"]}`,
			facts(changed("a.go", receipt.Unknown, "2", 10)), receipt.Verified,
			[]string{"modified a.go: what it held before is not known"},
			nil,
		},
		{
			"large, before and after", `{"files_modified":["a.bin"]}`, facts(changed("a.bin", receipt.Unknown, receipt.Unknown, 10)),
			receipt.Verified,
			[]string{"modified a.bin: what it held before is not known"},
			nil,
		},
		{
			"large, and there before", `{"files_created":["a.bin"]}`, facts(changed("a.bin", receipt.Unknown, receipt.Unknown, 10)),
			receipt.Contradicted,
			[]string{"created a.bin: it was there before the run"},
			nil,
		},
		{
			"large, and new", `{"files_created":["a.bin"]}`, facts(changed("a.bin", "", receipt.Unknown, 10)),
			receipt.Verified,
			[]string{"created a.bin"},
			nil,
		},
		{
			"deleted by a command", `{"files_modified":["a.go"]}`, facts(changed("a.go", receipt.Unknown, "", 10)), receipt.Verified,
			[]string{"modified a.go: it was deleted"},
			nil,
		},
		{
			"written, then changed back by a command", `{"files_modified":["a.go"]}`,
			facts(edit, changed("a.go", receipt.Unknown, "1", 11)), receipt.Contradicted,
			[]string{"modified a.go: it is as it was before the run"},
			nil,
		},
		{"claims of another shape", `{"files_modified":[1],"files_created":{"a":1},"tests_run":"many"}`, facts(), receipt.None, nil, nil},
		{"one name instead of a list", `{"files_modified":"a.go"}`, facts(edit), receipt.Verified, []string{"modified a.go"}, nil},
		{"no object", `[]`, facts(), receipt.None, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := receipt.Judge(receipt.Read(c.args), c.facts)
			check(t, got, c.verdict, c.want)
			if diff := cmp.Diff(c.unclaimed, got.Unclaimed); diff != "" {
				t.Errorf("unclaimed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTests has a row for each rule on claimed tests.
//
//
func TestTests(t *testing.T) {
	uncounted := receipt.Command{Line: "make test", At: 10}
	broken := receipt.Command{Line: "npm run test", Exit: 2, At: 10}
	killed := receipt.Command{Line: "cargo test", Signal: "killed", At: 10}
	five := tested("go test ./...", 5, 0, 10)
	edit := changed("a.go", "1", "2", 11)
	cases := []struct {
		name, args string
		facts      receipt.Evidence
		verdict    receipt.Verdict
		want       string
	}{
		{"counted", `{"tests_run":5,"tests_passed":5}`, facts(five), receipt.Verified, "5 of 5 tests passed"},
		{"fewer than counted", `{"tests_passed":3}`, facts(five), receipt.Verified, "3 tests passed"},
		{"as text", `{"tests_run":"5","tests_passed":" 5 "}`, facts(five), receipt.Verified, "5 of 5 tests passed"},
		{"more passed than counted", `{"tests_run":5,"tests_passed":5}`, facts(tested("go test", 3, 0, 1)), receipt.Contradicted, "5 of 5 tests passed: 3 passed"},
		{"more run than counted", `{"tests_run":6}`, facts(five), receipt.Contradicted, "6 tests run: 5 were run"},
		{"more passed than run", `{"tests_run":1,"tests_passed":2}`, facts(five), receipt.Contradicted, "2 of 1 tests passed: more passed than were run"},
		{"no test command", `{"tests_run":5,"tests_passed":5}`, facts(receipt.Command{Line: "ls"}), receipt.Contradicted, "5 of 5 tests passed: no tests were run"},
		{
			"no test command, but files not all looked at", `{"tests_run":5,"tests_passed":5}`, facts(partial), receipt.Contradicted,
			"5 of 5 tests passed: no tests were run",
		},
		{
			"perhaps a test command", `{"tests_run":5,"tests_passed":5}`, facts(perhaps), receipt.Unverified,
			"5 of 5 tests passed: nobody saw tests run; a call of which the end is not known may have run them",
		},
		{
			"the last failed", `{"tests_run":5,"tests_passed":5}`, facts(five, tested("go test ./a", 4, 1, 12)), receipt.Contradicted,
			"5 of 5 tests passed: the last test command failed, exit code 1",
		},
		{
			"the last failed, told in another order", `{"tests_run":5,"tests_passed":5}`, facts(tested("go test ./a", 4, 1, 12), five),
			receipt.Contradicted, "5 of 5 tests passed: the last test command failed, exit code 1",
		},
		{
			"failures that are owned up to", `{"tests_run":5,"tests_passed":4}`, facts(tested("go test", 4, 1, 12)), receipt.Verified,
			"4 of 5 tests passed",
		},
		{
			"the last was killed", `{"tests_passed":5}`, facts(killed), receipt.Contradicted,
			"5 tests passed: the last test command failed, signal killed",
		},
		{
			"uncounted", `{"tests_run":5,"tests_passed":5}`, facts(uncounted), receipt.Unverified,
			"5 of 5 tests passed: the output of a test command could not be counted; the last ended with exit code 0",
		},
		{
			"uncounted and failed", `{"tests_run":5,"tests_passed":5}`, facts(broken), receipt.Contradicted,
			"5 of 5 tests passed: the last test command failed, exit code 2",
		},
		{
			"counted before the last change", `{"tests_run":5,"tests_passed":5}`, facts(five, edit), receipt.Unverified,
			"5 of 5 tests passed: they were run before the last change",
		},
		{
			"counted, and a file written with what it held", `{"tests_passed":5}`,
			facts(changed("a.go", "1", "2", 9), five, changed("a.go", "2", "2", 11)), receipt.Verified, "5 tests passed",
		},
		{
			"the same command counts once, as it last went", `{"tests_passed":8}`, facts(tested("go test", 4, 1, 1), tested("go test", 5, 0, 2)),
			receipt.Contradicted, "8 tests passed: 5 passed",
		},
		{
			"two commands count together", `{"tests_passed":8}`, facts(tested("go test", 5, 0, 1), tested("npx jest", 3, 0, 2)),
			receipt.Verified, "8 tests passed",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			check(t, receipt.Judge(receipt.Read(c.args), c.facts), c.verdict, []string{c.want})
		})
	}
}

// TestNoClaimOfTests shows that zeroes and less claim nothing.
func TestNoClaimOfTests(t *testing.T) {
	for _, args := range []string{`{"tests_run":0,"tests_passed":0}`, `{"tests_run":null}`, `{"tests_run":-1}`, `{"tests_passed":""}`} {
		check(t, receipt.Judge(receipt.Read(args), facts()), receipt.None, nil)
	}
}

// TestTestCommands shows which command lines count as tests.
func TestTestCommands(t *testing.T) {
	for line, want := range map[string]receipt.Verdict{
		"go test ./...": receipt.Unverified, "cd web && pnpm test": receipt.Unverified, "python -m pytest -q": receipt.Unverified,
		"make lint test/unit": receipt.Unverified, "./gradlew --info :app:check": receipt.Unverified, "cargo  nextest run": receipt.Unverified,
		"go build ./...": receipt.Contradicted, "make": receipt.Contradicted, "npm install": receipt.Contradicted, "cat go.sum": receipt.Contradicted,
	} {
		got := receipt.Judge(receipt.Read(`{"tests_passed":1}`), facts(receipt.Command{Line: line}))
		if got.Verdict != want {
			t.Errorf("%q: %s, want %s", line, got.Verdict, want)
		}
	}
}

// TestBounds shows that a receipt stays small, and says that it is not complete.
func TestBounds(t *testing.T) {
	var e receipt.Evidence
	for i := range 1100 {
		name := fmt.Sprintf("f%04d", i)
		e.Add(facts(changed(name, "1", "2", int64(i)), receipt.File{Path: name}, receipt.Page{URL: name}, receipt.Command{Line: name, At: int64(i)}))
	}
	sizes := []int{len(e.Changed), len(e.Read), len(e.Pages), len(e.Commands)}
	if diff := cmp.Diff([]int{1000, 100, 100, 100}, sizes); diff != "" {
		t.Errorf("changed, read, pages, commands (-want +got):\n%s", diff)
	}
	if e.Commands[99].Line != "f1099" {
		t.Errorf("the last command is %s", e.Commands[99].Line)
	}
	check(t, receipt.Judge(receipt.Read(`{"files_modified":["f1050"],"tests_passed":1}`), e), receipt.Unverified, []string{
		"modified f1050: it may have been changed by a call that could not be looked into",
		"1 tests passed: nobody saw tests run; a call of which the end is not known may have run them",
	})
}

// TestJSON shows that a receipt survives the journal.
func TestJSON(t *testing.T) {
	want := receipt.Judge(receipt.Read(`{"files_modified":["a"],"tests_run":2}`), facts(
		changed("a", "1", "2", 3), tested("go test", 2, 0, 4), receipt.Page{URL: "u", Status: 200}, receipt.File{Path: "b", Hash: "h"}))
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got receipt.Receipt
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Facts.Count() != 4 || got.Count(receipt.Verified) != 2 || got.Count(receipt.Contradicted) != 0 {
		t.Errorf("%d facts, %d verified, %d contradicted", got.Facts.Count(), got.Count(receipt.Verified), got.Count(receipt.Contradicted))
	}
}

// check compares the overall verdict and all findings with the wanted ones.
func check(t *testing.T, got receipt.Receipt, verdict receipt.Verdict, want []string) {
	t.Helper()
	if got.Verdict != verdict {
		t.Errorf("verdict %s, want %s", got.Verdict, verdict)
	}
	var words []string
	for _, f := range got.Claims {
		words = append(words, f.String())
	}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
