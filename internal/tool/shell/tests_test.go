package shell

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
)

func sample(t *testing.T, name string) sandbox.Output {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Output{Head: data}
}

// TestTestsAreCountedInTheOutputOfTheirRunner reads what the runners printed on small projects.
func TestTestsAreCountedInTheOutputOfTheirRunner(t *testing.T) {
	for _, c := range []struct {
		sample, line string
		want         tool.Tests
	}{
		{"go-ok", "go test ./a", tool.Tests{Runner: "go packages", Passed: 1}},
		{"go-plain", "go test ./...", tool.Tests{Runner: "go packages", Passed: 1, Failed: 2}},
		{"go-verbose", "cd shop && go test -v ./...", tool.Tests{Runner: "go", Passed: 3, Failed: 2, Skipped: 1}},
		{"go-json", "go test -json ./...", tool.Tests{Runner: "go", Passed: 3, Failed: 2, Skipped: 1}},
		{"go-verbose", "make test", tool.Tests{Runner: "go", Passed: 3, Failed: 2, Skipped: 1}},
		{"pytest-mixed", "python3 -m pytest", tool.Tests{Runner: "pytest", Passed: 2, Failed: 2, Skipped: 2}},
		{"pytest-quiet", "pytest -q", tool.Tests{Runner: "pytest", Passed: 2}},
		{"pytest-none", "pytest -k nothing", tool.Tests{Runner: "pytest"}},
		{"jest-mixed", "npx jest", tool.Tests{Runner: "jest", Passed: 2, Failed: 1, Skipped: 1}},
		{"jest-suite", "npm test", tool.Tests{Runner: "jest", Failed: 1}},
		{"vitest-mixed", "npx vitest run", tool.Tests{Runner: "vitest", Passed: 2, Failed: 1, Skipped: 1}},
		{"cargo-mixed", "cargo test --no-fail-fast", tool.Tests{Runner: "cargo", Passed: 2, Failed: 1, Skipped: 1}},
		{"cargo-mixed", "./check.sh", tool.Tests{Runner: "cargo", Passed: 2, Failed: 1, Skipped: 1}},
	} {
		if diff := cmp.Diff(&c.want, count(c.line, sample(t, c.sample))); diff != "" {
			t.Errorf("%s of %s: %s", c.sample, c.line, diff)
		}
	}
}

func TestWhatOnlyLooksLikeAResultIsNone(t *testing.T) {
	for _, name := range []string{"go-plain", "go-verbose", "go-json", "pytest-mixed", "jest-mixed", "vitest-mixed", "cargo-mixed"} {
		for _, line := range []string{"cat " + name, "echo ok", "printf '%s' x | grep y", "git log"} {
			if got := count(line, sample(t, name)); got != nil {
				t.Errorf("%s of %s: %+v", name, line, got)
			}
		}
	}
	for _, text := range []string{"", "ok", "3 passed", "we passed 3 in 2s", "Tests: all fine", "--- PASS: x", "test result: ok."} {
		if got := count("make", sandbox.Output{Head: []byte(text)}); got != nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestAnOutputWithoutItsMiddle(t *testing.T) {
	cut := sample(t, "go-verbose")
	cut.Cut = 1
	if got := count("go test -v", cut); got != nil {
		t.Errorf("counted in a part: %+v", got)
	}
	tail := sandbox.Output{Head: []byte("x\n"), Cut: 9, Tail: sample(t, "pytest-quiet").Head}
	if got := count("pytest", tail); got == nil || got.Passed != 2 {
		t.Errorf("the summary at the end is not seen: %+v", got)
	}
}

func TestSeveralRunnersInOneLine(t *testing.T) {
	both := sandbox.Output{Head: append(sample(t, "go-ok").Head, sample(t, "pytest-quiet").Head...)}
	want := &tool.Tests{Runner: "go packages and pytest", Passed: 3}
	if diff := cmp.Diff(want, count("go test ./a && pytest -q", both)); diff != "" {
		t.Error(diff)
	}
}
