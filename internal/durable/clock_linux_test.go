package durable

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTheClockCountsSinceTheMachineStarted compares it with what the kernel says. A clock that
// somebody can set is far from that.
func TestTheClockCountsSinceTheMachineStarted(t *testing.T) {
	t.Parallel()
	before := uptime(t)
	got := sinceBoot()
	after := uptime(t)
	const digit = 10 * time.Millisecond // the last one that the kernel writes
	if got < before-digit || got > after+digit {
		t.Errorf("the clock says %v, the kernel %v before and %v after", got, before, after)
	}
}

// uptime is how long the kernel says that the machine runs, its sleep included.
func uptime(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(seconds * float64(time.Second))
}
