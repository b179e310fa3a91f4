package tiers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// figureMark is what stands before a figure in a suite's output.
const figureMark = "proof: "

// mostFigures is how many lines of figures one suite may fill.
const mostFigures = 12

var (
	failedTest    = regexp.MustCompile(`(?m)^(?:\s*--- FAIL: (\S+)|FAILED (.+))`)
	failedPackage = regexp.MustCompile(`(?m)^FAIL\t(\S+)()`)
	passedPackage = regexp.MustCompile(`(?m)^ok\s+\S+`)
	passedTest    = regexp.MustCompile(`(?m)^--- PASS: `)
)

// figures takes from a suite's output the lines that say what it showed: bounds that were missed,
// then what was found, then bounds that were held. Output without any is counted: tests and
// packages that passed. If the suite failed, the tests that did come first.
func figures(suite, output string, failed bool) []string {
	var found []string
	for line := range strings.Lines(output) {
		if _, figure, ok := strings.Cut(line, figureMark); ok {
			found = append(found, strings.TrimPrefix(strings.TrimSpace(figure), suite+": "))
		}
	}
	if len(found) == 0 {
		found = counted(output)
	}
	slices.SortStableFunc(found, func(a, b string) int { return rank(a) - rank(b) })
	if failed {
		found = append(failures(output), found...)
	}
	if len(found) > mostFigures {
		left := len(found) - mostFigures
		found = append(found[:mostFigures:mostFigures], fmt.Sprintf("and %d more lines", left))
	}
	return found
}

// rank puts what a suite found before the bounds it held, and those that it missed before the
// others.
func rank(figure string) int {
	switch bound := strings.Contains(figure, ", at most ") || strings.Contains(figure, ", at least "); {
	case strings.Contains(figure, ": missed"):
		return 0
	case !bound:
		return 1
	}
	return 2
}

func counted(output string) []string {
	packages, tests := len(passedPackage.FindAllString(output, -1)), len(passedTest.FindAllString(output, -1))
	switch {
	case tests > 0:
		return []string{fmt.Sprintf("%d tests passed", tests)}
	case packages > 0:
		return []string{fmt.Sprintf("the tests of %d packages passed", packages)}
	}
	return nil
}

// failures names the tests that failed or, if there are none, the packages that did not build or
// ended.
func failures(output string) []string {
	var names []string
	for _, pattern := range []*regexp.Regexp{failedTest, failedPackage} {
		if len(names) > 0 {
			break
		}
		for _, match := range pattern.FindAllStringSubmatch(output, -1) {
			if name := strings.TrimSpace(match[1] + match[2]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return []string{"failed outside of a test"}
	}
	return []string{"failed: " + strings.Join(names, ", ")}
}
