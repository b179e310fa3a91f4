// Package measure compares figures with their bounds, where a run asks for it.
//
// A slow machine must not decide if a change is right. Tests therefore write down what they
// measured, and only where TEST_RETINUE_MEASURE is 1, as make prove sets it, does a figure over its
// bound fail. Every line starts with "proof: ", by which make prove finds it.
//
// It is test support, and imports the standard library only.
package measure

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// Variable is the name of the variable that asks for figures to be checked against their bounds.
const Variable = "TEST_RETINUE_MEASURE"

// On reports whether figures are checked against their bounds.
func On() bool { return os.Getenv(Variable) == "1" }

// Seed is the seed of a test that draws random numbers: the caller's, if it is not zero. Otherwise
// make prove draws a new one each time, and all other runs use the same one, so that a change is
// never refused for a fault that it did not cause.
func Seed(t testing.TB, given uint64) uint64 {
	t.Helper()
	if given == 0 {
		given = 1
		if On() {
			given = rand.Uint64()
		}
	}
	t.Logf("seed %d", given)
	return given
}

// Most writes down a figure and the most it may be. Over it, the test fails where figures are
// checked.
func Most[T cmp.Ordered](t testing.TB, what string, got, most T) {
	t.Helper()
	line := fmt.Sprintf("proof: %s: %s, at most %s", what, text(got), text(most))
	switch {
	case got <= most:
		t.Log(line)
	case On():
		t.Errorf("%s: missed", line)
	default:
		t.Logf("%s: missed, and not counted here", line)
	}
}

// Least writes down a figure and the least it must be. Under it, the test fails wherever it runs:
// waiting longer is all that a slow machine can do.
func Least[T cmp.Ordered](t testing.TB, what string, got, least T) {
	t.Helper()
	line := fmt.Sprintf("proof: %s: %s, at least %s", what, text(got), text(least))
	if got >= least {
		t.Log(line)
		return
	}
	t.Errorf("%s: missed", line)
}

// Met writes down whether a test met its purpose. With random faults this is a matter of chance: on
// a slow machine they all hit the same moment. So a test that met nothing fails only where figures
// are checked.
func Met(t testing.TB, ok bool, what string) {
	t.Helper()
	switch {
	case ok:
	case On():
		t.Errorf("proof: %s: not met, so this run shows nothing of it", what)
	default:
		t.Logf("proof: %s: not met, and not counted here", what)
	}
}

// Figure writes the results of a suite, in its last lines.
func Figure(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf("proof: "+format, args...)
}

// text writes a figure with no more digits than are worth reading.
func text(figure any) string {
	switch f := figure.(type) {
	case time.Duration:
		return f.Round(fine(f)).String()
	case float64:
		if f > -10_000 && f < 10_000 {
			return fmt.Sprintf("%.4g", f)
		}
		return fmt.Sprintf("%.0f", f)
	default:
		return fmt.Sprint(f)
	}
}

// fine is the thousandth part of a duration, in a power of ten.
func fine(d time.Duration) time.Duration {
	part := time.Nanosecond
	for limit := max(d, -d) / 1000; part < limit; {
		part *= 10
	}
	return part
}
