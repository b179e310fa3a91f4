package shell

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/command"
)

// runner is a program that runs tests, and the form of its results.
type runner struct {
	name string
	// runs reports whether a command is this runner.
	runs func(program string, words []string) bool
	// read counts. It finds nothing in the output of anything else.
	read func(o sandbox.Output) *tool.Tests
}

var runners = []runner{
	{name: "go", read: readGo, runs: func(program string, words []string) bool {
		return program == "go" && slices.Contains(words, "test") || program == "gotestsum"
	}},
	{name: "pytest", read: readPytest, runs: func(program string, words []string) bool {
		return program == "pytest" || program == "py.test" || strings.HasPrefix(program, "python") && slices.Contains(words, "pytest")
	}},
	{name: "jest", read: readJest, runs: func(program string, words []string) bool { return named("jest", program, words) }},
	{name: "vitest", read: readVitest, runs: func(program string, words []string) bool { return named("vitest", program, words) }},
	{name: "cargo", read: readCargo, runs: func(program string, words []string) bool {
		return program == "cargo" && (slices.Contains(words, "test") || slices.Contains(words, "t"))
	}},
}

func named(name, program string, words []string) bool {
	return program == name || slices.Contains([]string{"npx", "pnpx", "bunx", "node"}, program) &&
		slices.ContainsFunc(words, func(w string) bool { return w == name || strings.HasSuffix(w, "/"+name) })
}

// drivers run other programs whose names do not stand in the line. Of their output, and of that of
// a script, the shape alone says which runner wrote it.
var drivers = []string{
	"make", "gmake", "ninja", "bazel", "just", "task", "mage", "npm", "pnpm", "yarn", "bun", "npx", "tox", "nox", "uv", "poetry",
	"hatch", "pipenv", "pdm", "rake", "gradle", "mvn", "earthly", "docker", "timeout", "time", "env", "nice", "xargs", "sh", "bash", "python",
	"python3", "node",
}

// count finds the tests that a line ran. A line that only prints what looks like a result has none.
func count(line string, o sandbox.Output) *tool.Tests {
	var sum *tool.Tests
	for _, r := range runners {
		if !r.mayRun(line) {
			continue
		}
		found := r.read(o)
		switch {
		case found == nil:
		case sum == nil:
			sum = found
		default:
			sum.Runner += " and " + found.Runner
			sum.Passed, sum.Failed, sum.Skipped = sum.Passed+found.Passed, sum.Failed+found.Failed, sum.Skipped+found.Skipped
		}
	}
	return sum
}

func (r runner) mayRun(line string) bool {
	return slices.ContainsFunc(command.Parse(line).Commands, func(c command.Command) bool {
		words := c.Words()
		return r.runs(c.Program, words) || slices.Contains(drivers, c.Program) || len(words) > 0 && strings.Contains(words[0], "/") && c.Program != ""
	})
}

// colours are what some runners paint their output with.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func lines(o sandbox.Output) []string {
	return strings.Split(strings.ReplaceAll(colours.ReplaceAllString(o.String(), ""), "\r", ""), "\n")
}

var (
	goTest    = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): \S+ \([0-9.]+s\)$`)
	goPackage = regexp.MustCompile(`^(ok  |FAIL)\t\S+(?:\t| )(\(cached\)|[0-9.]+s|\[(?:build|setup) failed\])(.*)$`)
)

// readGo counts the tests at the top of go test -v and -json. Without either, only packages are
// told.
func readGo(o sandbox.Output) *tool.Tests {
	if o.Cut > 0 {
		return nil // each test has its line, and some are missing
	}
	var tests, packages, broken tool.Tests
	told := false
	for _, line := range lines(o) {
		if strings.HasPrefix(line, "{") {
			told = readGoEvent(line, &tests, &packages, &broken) || told
			continue
		}
		if m := goTest.FindStringSubmatch(line); m != nil {
			told = told || m[1] != "FAIL" // a failure is shown in any case
			tally(&tests, strings.ToLower(m[1]))
		}
		if m := goPackage.FindStringSubmatch(line); m != nil && !strings.Contains(m[3], "[no tests to run]") {
			tally(&packages, map[string]string{"ok  ": "pass", "FAIL": "fail"}[m[1]])
			tally(&broken, map[bool]string{true: "fail"}[m[1] == "FAIL" && m[2][0] == '['])
		}
	}
	switch {
	case told:
		tests.Runner = "go"
		tests.Failed += broken.Failed // did not compile
		if tests.Failed == 0 {
			tests.Failed = packages.Failed // broke down outside of a test
		}
		return &tests
	case packages.Passed+packages.Failed > 0:
		packages.Runner = "go packages"
		return &packages
	}
	return nil
}

// readGoEvent counts one line of go test -json.
func readGoEvent(line string, tests, packages, broken *tool.Tests) bool {
	var e struct{ Action, Package, Test, FailedBuild string }
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.Package == "" {
		return false
	}
	switch {
	case e.FailedBuild != "":
		tally(broken, e.Action)
	case e.Test == "":
		tally(packages, e.Action)
	case !strings.Contains(e.Test, "/"):
		tally(tests, e.Action)
	}
	return true
}

func tally(t *tool.Tests, word string) {
	switch word {
	case "pass", "passed", "xpassed":
		t.Passed++
	case "fail", "failed", "error", "errors":
		t.Failed++
	case "skip", "skipped", "xfailed", "todo", "ignored", "pending":
		t.Skipped++
	}
}

// counted reads a summary such as "3 passed, 1 failed".
var counted = regexp.MustCompile(`(\d+) ([a-z]+)`)

func add(t *tool.Tests, summary string) {
	for _, m := range counted.FindAllStringSubmatch(summary, -1) {
		var one tool.Tests
		tally(&one, m[2])
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue // more than anybody has
		}
		t.Passed, t.Failed, t.Skipped = t.Passed+n*one.Passed, t.Failed+n*one.Failed, t.Skipped+n*one.Skipped
	}
}

var (
	pytestSummary = regexp.MustCompile(`^=* ?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [0-9.]+s(?: \([0-9:]+\))? ?=*$`)
	jestSuites    = regexp.MustCompile(`^Test Suites: +(.*) total$`)
	jestTests     = regexp.MustCompile(`^Tests: +(.*) total$`)
	vitestFiles   = regexp.MustCompile(`^ Test Files +(.*) \(\d+\)$`)
	vitestTests   = regexp.MustCompile(`^ +Tests +(.*?) ?(?:\(\d+\))?$`)
	cargoResult   = regexp.MustCompile(`^test result: (?:ok|FAILED)\. (.*); finished in `)
)

func readPytest(o sandbox.Output) *tool.Tests {
	var t *tool.Tests
	for _, line := range lines(o) {
		if m := pytestSummary.FindStringSubmatch(line); m != nil {
			t = &tool.Tests{Runner: "pytest"} // the last one sums up
			add(t, m[1])
		}
	}
	return t
}

func readJest(o sandbox.Output) *tool.Tests { return readSuites(o, "jest", jestSuites, jestTests) }

func readVitest(o sandbox.Output) *tool.Tests {
	return readSuites(o, "vitest", vitestFiles, vitestTests)
}

// readSuites reads a summary in two lines. A file that could not be run has no tests, and failed.
func readSuites(o sandbox.Output, name string, suites, tests *regexp.Regexp) *tool.Tests {
	var files, t *tool.Tests
	for _, line := range lines(o) {
		if m := suites.FindStringSubmatch(line); m != nil {
			files = &tool.Tests{}
			add(files, m[1])
		}
		if m := tests.FindStringSubmatch(line); m != nil && files != nil {
			t = &tool.Tests{Runner: name}
			add(t, m[1])
		}
	}
	if t != nil && t.Failed == 0 {
		t.Failed = files.Failed
	}
	return t
}

func readCargo(o sandbox.Output) *tool.Tests {
	var t *tool.Tests
	for _, line := range lines(o) {
		if m := cargoResult.FindStringSubmatch(line); m != nil {
			if t == nil {
				t = &tool.Tests{Runner: "cargo"}
			}
			add(t, m[1])
		}
	}
	return t
}
