package receipt

import (
	"fmt"
	"regexp"
)

// testLine matches a command that runs tests.
var testLine = regexp.MustCompile(`\b(go\s+test|gotestsum|pytest|unittest|tox|nox|jest|vitest|mocha|playwright\s+test|` +
	`cargo\s+(test|nextest)|ctest|rspec|phpunit|dotnet\s+test|bats|mix\s+test|` +
	`(mvn|gradlew?|make|just|task)\s+(.*\s)?\S*(test|check|verify)\S*|` +
	`(npm|pnpm|yarn|bun|deno)\s+(run\s+)?test)`)

// tests reports whether the command ran tests, counted or not.
func (c Command) tests() bool { return c.Tests != nil || testLine.MatchString(c.Line) }

// failed reports whether the command says that something is wrong.
func (c Command) failed() bool {
	return c.Exit != 0 || c.Signal != "" || (c.Tests != nil && c.Tests.Failed > 0)
}

// tally counts the tests of a run: each command line counts with its last result.
type tally struct {
	runs, passed, counted, uncounted int
	last                             Command
}

func (e Evidence) tally() tally {
	var t tally
	lines := map[string]bool{}
	for i := range e.Commands {
		c := e.Commands[len(e.Commands)-1-i]
		if !c.tests() {
			continue
		}
		if t.runs++; t.runs == 1 {
			t.last = c
		}
		switch {
		case lines[c.Line]:
		case c.Tests == nil:
			t.uncounted++
		default:
			t.passed += c.Tests.Passed
			t.counted += c.Tests.Passed + c.Tests.Failed + c.Tests.Skipped
		}
		lines[c.Line] = true
	}
	return t
}

// judgeTests compares the claimed numbers of tests with those that were counted.
func (e Evidence) judgeTests(c Claims) Finding {
	f := Finding{Kind: KindTests, Claim: c.words(), Verdict: Contradicted}
	t := e.tally()
	run, passed := atLeast(c.Run), atLeast(c.Passed)
	switch {
	case c.Run != nil && passed > run:
		f.Reason = "more passed than were run"
	case t.runs == 0 && e.Perhaps > 0:
		f.Verdict, f.Reason = Unverified, "nobody saw tests run; a call of which the end is not known may have run them"
	case t.runs == 0:
		f.Reason = "no tests were run"
	case c.all() && t.last.failed():
		f.Reason = "the last test command failed, " + t.last.end()
	case (passed > t.passed || run > t.counted) && t.uncounted > 0:
		f.Verdict, f.Reason = Unverified, "the output of a test command could not be counted; the last ended with "+t.last.end()
	case passed > t.passed:
		f.Reason = fmt.Sprintf("%d passed", t.passed)
	case run > t.counted:
		f.Reason = fmt.Sprintf("%d were run", t.counted)
	case t.last.At < e.lastChange():
		f.Verdict, f.Reason = Unverified, "they were run before the last change"
	default:
		f.Verdict = Verified
	}
	return f
}

func (c Command) end() string {
	if c.Signal != "" {
		return "signal " + c.Signal
	}
	return fmt.Sprintf("exit code %d", c.Exit)
}

// words are the claims about tests.
func (c Claims) words() string {
	switch {
	case c.Run == nil:
		return fmt.Sprintf("%d tests passed", *c.Passed)
	case c.Passed == nil:
		return fmt.Sprintf("%d tests run", *c.Run)
	}
	return fmt.Sprintf("%d of %d tests passed", *c.Passed, *c.Run)
}

func atLeast(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// lastChange is when a file was changed last that is not as it was.
func (e Evidence) lastChange() int64 {
	at := int64(0)
	for _, c := range e.Changed {
		if c.differs() {
			at = max(at, c.Last)
		}
	}
	return at
}
