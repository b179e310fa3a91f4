package leg

import (
	"testing"

	"github.com/retinue-dev/retinue/internal/journal"
)

// TestTheBellOfTheLegThatIsThere has legs come and go while others notify them.
func TestTheBellOfTheLegThatIsThere(t *testing.T) {
	t.Parallel()
	var d listeners
	ref := journal.Ref{Tenant: "t", Conversation: "c"}
	rung := func(bell <-chan struct{}) bool {
		select {
		case <-bell:
			return true
		default:
			return false
		}
	}
	if d.notify(ref, "ada") {
		t.Error("somebody heard, and nobody is there")
	}
	first, leaveFirst := d.register(ref, "ada", func() {})
	if d.notify(ref, "bob") || d.notify(journal.Ref{Tenant: "t", Conversation: "d"}, "ada") || rung(first) {
		t.Error("the bell of somebody else was heard")
	}
	for range 2 {
		if !d.notify(ref, "ada") {
			t.Error("nobody heard")
		}
	}
	if once, twice := rung(first), rung(first); !once || twice {
		t.Error("who was rung for twice has one look to do")
	}
	second, leaveSecond := d.register(ref, "ada", func() {}) // a second attempt, while the first is not yet gone
	leaveFirst()
	if !d.notify(ref, "ada") || rung(first) || !rung(second) {
		t.Error("the bell was heard by the attempt that has ended")
	}
	leaveSecond()
	if d.notify(ref, "ada") || len(d.open) != 0 {
		t.Errorf("%d legs still listen", len(d.open))
	}
}
