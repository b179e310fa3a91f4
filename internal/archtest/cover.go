package archtest

import (
	"bufio"
	"fmt"
	"go/ast"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"text/tabwriter"
)

// CoverMin is the least part of a shipped package, in percent, that its own tests run without
// services.
const CoverMin = 70

// Uncovered are the packages whose own tests may run less of them, each with its reason. One that
// needs none any more is a finding itself.
var Uncovered = []Exception{
	{"cmd/retinue", startsCLI},
	{"internal/api/admin", inPostgres},
	{"internal/api/identity", inPostgres},
	{"internal/journal/postgres", adapts},
	{"internal/journal/tables", "the suites of both stores run it, in the packages of the stores"},
	{"internal/live/nats", adapts},
	{"internal/people/postgres", adapts},
	{"internal/sandbox", "most of it runs programs in bubblewrap, which make test/mcp and make escape need"},
	{"standalone", startsCLI},
	{"standalone/engine", "a module of its own, which make test/engine tests with the server that it starts"},
	{"web", "it embeds the built pages, which the tests of internal/app serve"},
}

const (
	adapts = "an adapter of a server, which make test/services tests with the server"
	// Without a database there is one person, who neither logs in nor has members or keys.
	inPostgres = "people are in Postgres: make tenancy tests it from internal/api, with the whole server"
	startsCLI  = "it hands its arguments to internal/cli; the end-to-end tests start it"
)

// coverLine is what go test -cover says of a package that it has built: with tests, or without any.
var coverLine = regexp.MustCompile(`^(?:ok\s+|\s+)(\S+)\s.*coverage: (?:(\d+(?:\.\d+)?)% of statements|\[no statements\])`)

// ParseCoverage reads what go test -cover writes: the part of each package that its own tests
// ran, in percent. A package without statements is covered. A line that says of a package that
// its tests failed is an error.
func ParseCoverage(r io.Reader) (map[string]float64, error) {
	found := map[string]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if failed.MatchString(line) {
			return nil, fmt.Errorf("a test failed: %s", line)
		}
		m := coverLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found[m[1]] = 100
		if m[2] != "" {
			part, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				return nil, fmt.Errorf("read the coverage of %s: %w", m[1], err)
			}
			found[m[1]] = part
		}
	}
	return found, lines.Err()
}

var failed = regexp.MustCompile(`^(FAIL|--- FAIL|panic:)`)

// Cover writes the part of each shipped package that its own tests run, and each package that is
// under CoverMin without a reason. It returns how many those are. Generated code and packages
// that exist for tests are left out.
func Cover(w io.Writer, t *Tree, covered map[string]float64, reasons []Exception) (int, error) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "package\tcovered")
	var found []string
	packages, least := 0, 100.0
	for _, p := range t.Packages {
		if !ships(p) {
			continue
		}
		packages++
		part, measured := covered[path.Join(t.Module, p.Dir)]
		shown := "not measured"
		if measured {
			shown = strconv.FormatFloat(part, 'f', 1, 64) + " %"
		}
		fmt.Fprintf(out, "%s\t%s\n", p.Dir, shown)
		excused := slices.ContainsFunc(reasons, func(e Exception) bool { return e.Subject == p.Dir })
		switch {
		case measured && part >= CoverMin && excused:
			found = append(found, p.Dir+" needs no reason any more: take it out of archtest.Uncovered")
		case excused:
		case !measured:
			found = append(found, p.Dir+" was not measured")
		case part < CoverMin:
			found = append(found, fmt.Sprintf("the tests of %s run %s of it, less than %d %%", p.Dir, shown, CoverMin))
		}
		if measured && !excused {
			least = min(least, part)
		}
	}
	for _, e := range reasons {
		if !slices.ContainsFunc(t.Packages, func(p *Package) bool { return p.Dir == e.Subject }) {
			found = append(found, e.Subject+" is in archtest.Uncovered and does not exist")
		}
	}
	fmt.Fprintln(out)
	for _, f := range found {
		fmt.Fprintln(out, f)
	}
	fmt.Fprintf(out, "proof: %d shipped packages, %d with a reason, the others %.1f %% or more covered by their own tests\n",
		packages, len(reasons), least)
	return len(found), out.Flush()
}

// ships reports whether a package has hand-written code that a user runs.
func ships(p *Package) bool {
	return !supports(p) && slices.ContainsFunc(p.Files, func(f *File) bool { return !f.Test && !ast.IsGenerated(f.Syntax) && declares(f) })
}

// declares reports whether a file has a function.
func declares(f *File) bool {
	return slices.ContainsFunc(f.Syntax.Decls, func(d ast.Decl) bool { _, ok := d.(*ast.FuncDecl); return ok })
}
