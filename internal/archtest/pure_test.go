package archtest

import (
	"path"
	"strings"
	"testing"
)

func TestPurity(t *testing.T) {
	found, err := Purity(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	fail(t, found)
}

func TestImpureCodeIsRefused(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{`func f() { go f() }`, "starts a goroutine"},
		{`func f() { select {} }`, "selects on channels"},
		{`type inbox chan int`, "uses a channel"},
		{`func f(m map[int]int) { for range m {} }`, "ranges over a map"},
		{`type set map[int]bool; func f(s set) { for range s {} }`, "ranges over a map"},
		{
			`func f(m map[int]int) { for range maps.Keys(m) {} }`,
			"takes the entries of a map unsorted",
		},
		{`var count int`, "variable count has no fixed value"},
		{`var made = strings.ToUpper("a")`, "variable made is computed"},
		{`var table = map[int]int{}; func f() { table[1] = 2 }`, "changes variable table"},
		{`var table = []int{1}; func f() { table[0]++ }`, "changes variable table"},
		{`var table = map[int]int{}; func f() { clear(table) }`, "changes variable table"},
		{
			`var limit = struct{ n int }{1}; var _ = f; func f() *int { return &limit.n }`,
			"changes variable limit",
		},
		{`func f() { chat.Names[0] = "" }`, "changes variable Names"},
	} {
		found := purityOf(t, "internal/agent/a.go", c.code)
		if len(found) != 1 || found[0].What != c.want || found[0].Why == "" {
			t.Errorf("%s\n\tgot  %v\n\twant %s", c.code, found, c.want)
		}
	}
}

func TestPureCodeIsLeftAlone(t *testing.T) {
	for _, code := range []string{
		`var errLate = errors.New("late")`,
		`var names = map[int]string{1: "one"}; func f() string { return names[1] }`,
		`func f(m map[int]int) { for _, k := range slices.Sorted(maps.Keys(m)) { m[k]++ } }`,
		`func f(a [3]int) int { a[0] = len(chat.Names); return a[0] }`,
		`type sealed interface{ is() }; type one struct{}; func (one) is() {}; var _ sealed = one{}`,
	} {
		fail(t, purityOf(t, "internal/agent/a.go", code))
	}
	const impure = `func f(m map[int]int) { go f(m); for range m {} }`
	fail(t, purityOf(t, "internal/agent/a_test.go", impure))
	fail(t, purityOf(t, "internal/agent/sim/a.go", impure))
}

// purityOf checks one file with some imports ready for use, beside a small chat package.
func purityOf(t *testing.T, file, code string) []Violation {
	t.Helper()
	source := "package agent\n"
	ready := []string{"errors", "maps", "slices", "strings", "example.com/m/internal/chat"}
	for _, name := range ready {
		if strings.Contains(code, path.Base(name)+".") {
			source += "import \"" + name + "\"\n"
		}
	}
	found, err := Purity(sketch(t, map[string]string{
		file:                    source + code,
		"internal/chat/chat.go": "package chat\nvar Names = []string{\"a\"}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
