package tiers

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// mostLog is how many lines of a failed suite's output are shown.
const mostLog = 1500

// tell shows what came of a suite: of one that passed the figures, of one that failed its output.
func (r *Runner) tell(result Result) {
	word := "ok    "
	if result.Failed {
		word = "FAILED"
		showLog(r.Out, result)
	}
	fmt.Fprintf(r.Out, "%s %-16s %5.0f s\n", word, result.Suite, result.Took.Seconds())
	for _, figure := range result.Figures {
		fmt.Fprintf(r.Out, "       %s\n", figure)
	}
}

func showLog(out io.Writer, result Result) {
	fmt.Fprintf(out, "\n=== %s, from %s\n", result.Suite, result.log)
	text, err := os.ReadFile(result.log)
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	lines := strings.SplitAfter(string(text), "\n")
	if left := len(lines) - mostLog; left > 0 {
		fmt.Fprintf(out, "… %d lines left out\n", left)
		lines = lines[left:]
	}
	fmt.Fprintln(out, strings.Join(lines, ""))
}

// Summary shows how long each suite took and how busy it kept the processors, what cost most, and
// what failed.
func Summary(out io.Writer, tier Tier, results []Result, took time.Duration) {
	fmt.Fprintf(out, "\n%-16s %8s %8s  %s\n", "suite", "seconds", "cpu", "result")
	var failed []string
	for _, r := range results {
		word := "ok"
		if r.Failed {
			word = "FAILED"
			failed = append(failed, r.Suite)
		}
		fmt.Fprintf(out, "%-16s %8.0f %8.0f  %s\n", r.Suite, r.Took.Seconds(), r.CPU.Seconds(), word)
	}
	dear := slices.SortedFunc(slices.Values(results), func(a, b Result) int { return cmp.Compare(b.CPU, a.CPU) })
	var names []string
	for _, r := range dear[:min(3, len(dear))] {
		names = append(names, fmt.Sprintf("%s (%.0f s of processor time)", r.Suite, r.CPU.Seconds()))
	}
	fmt.Fprintf(out, "\nmost expensive: %s\n", strings.Join(names, ", "))
	if len(failed) > 0 {
		fmt.Fprintf(out, "failed: %s\n", strings.Join(failed, ", "))
	}
	fmt.Fprintf(out, "make %s: %d suites in %.0f s\n", tier, len(results), took.Seconds())
	fmt.Fprintf(out, "%d passed, %d failed\n", len(results)-len(failed), len(failed))
}
