package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
)

// TestListsForgetTheOldest fills each list of a state beyond its bound and compares the rest.
func TestListsForgetTheOldest(t *testing.T) {
	t.Run("tasks", func(t *testing.T) {
		r := played(t, "begin orchestrator per_call=99 agents=99", "said 1", "replied 1\n  spawn "+numbered(69, "reader=t%d "))
		compare(t, "t%d", 5, 69, r.state.Recent, func(v agent.Recent) string { return v.Hash })
	})
	t.Run("counts", func(t *testing.T) {
		r := played(t, "begin orchestrator calls=99", "said 1", "replied 1\n"+numbered(9, "  tool%[1]d hash=c%[1]d\n"))
		compare(t, "c%d", 1, 9, r.state.Repeats, func(v agent.Tally) string { return v.Key })
		compare(t, "tool%d", 1, 9, r.state.Failures, func(v agent.Tally) string { return v.Key })
	})
	t.Run("denials", func(t *testing.T) {
		r := played(t, "begin orchestrator calls=99", "said 1", "replied 1\n"+numbered(9, "  shell policy=deny hash=d%d\n"))
		compare(t, "d%d", 1, 9, r.state.Denials, func(v agent.Tally) string { return v.Key })
	})
	t.Run("cancel requests", func(t *testing.T) {
		r := played(t, "begin orchestrator")
		for n := range 9 {
			r.play(t, fmt.Sprintf("said %d", n+1), fmt.Sprintf("cancel r%d user", n), fmt.Sprintf("failed %d cancelled", n+1))
		}
		compare(t, "r%d", 1, 9, r.state.Cancelled, func(v string) string { return v })
	})
	t.Run("answers", func(t *testing.T) {
		r := played(t, "begin orchestrator", "said 1", "replied 1\n  spawn reader", "started c/1.0.0")
		for n := range 13 {
			r.play(t, fmt.Sprintf("asked c/1.0.0#%d.0 q%d relay", n+1, n), fmt.Sprintf("said %d re=c/1.0.0#%d.0", n+2, n+1))
		}
		compare(t, "q%d", 1, 13, r.state.Answers, func(v agent.Answer) string { return v.Hash })
	})
}

// TestListsTakeNoMore fills the lists that refuse entries beyond their bound.
func TestListsTakeNoMore(t *testing.T) {
	t.Run("approvals", func(t *testing.T) {
		r := played(t, "begin orchestrator calls=99", "said 1", "replied 1\n"+numbered(18, "  shell hash=a%[1]d pattern=p%[1]d\n"))
		var kept []string
		for n := range 18 {
			r.play(t, fmt.Sprintf("decided 1.%[1]d allow hash=a%[1]d scope=task", n))
			if n == 15 {
				kept = r.state.Grants
			}
		}
		if diff := cmp.Diff(kept, r.state.Grants); diff != "" || len(kept) != 16 {
			t.Errorf("%d kept (-want +got):\n%s", len(kept), diff)
		}
	})
	t.Run("messages", func(t *testing.T) {
		r := played(t, "begin orchestrator", "said 1")
		for n := range 32 {
			r.play(t, fmt.Sprintf("said %d", n+2))
		}
		r.refuses(t, agent.Full, "said 34")
	})
	t.Run("corrections", func(t *testing.T) {
		r := played(t, "begin reader")
		for n := range 32 {
			r.play(t, fmt.Sprintf("corrected %d", n+1))
		}
		r.refuses(t, agent.Full, "corrected 33")
	})
}

// TestPeoplesAnswersAreForgottenLast shows which answer is dropped first: the oldest that no person
// said, because a person's words may still come back.
//
// Covers: E-86.
func TestPeoplesAnswersAreForgottenLast(t *testing.T) {
	r := played(t, "begin orchestrator", "said 1", "replied 1\n  spawn reader", "started c/1.0.0",
		"asked c/1.0.0#1.0 said relay", "said 2 re=c/1.0.0#1.0")
	for n := range 12 {
		r.play(t, fmt.Sprintf("asked c/1.0.0#%d.0 q%d", n+2, n))
		r.play(t, fmt.Sprintf("resolved %d answered confidence=90 in=1", r.state.Sides[0].ID))
	}
	want := append([]string{"said"}, strings.Fields(numbered(12, "q%d "))[1:]...)
	if diff := cmp.Diff(want, texts(r.state.Answers, func(v agent.Answer) string { return v.Hash })); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// played is an agent after these steps of a script.
func played(t *testing.T, blocks ...string) *run {
	t.Helper()
	r := newRun()
	r.play(t, blocks...)
	return r
}

func (r *run) play(t *testing.T, blocks ...string) {
	t.Helper()
	for _, block := range blocks {
		answer, err := r.step(strings.Split(strings.TrimRight(block, " \n"), "\n"))
		if err != nil || strings.HasPrefix(answer, "refused") {
			t.Fatalf("%s: %s %v", block, answer, err)
		}
	}
}

func (r *run) refuses(t *testing.T, kind agent.RefusalKind, block string) {
	t.Helper()
	answer, err := r.step([]string{block})
	if err != nil || !strings.HasPrefix(answer, "refused: "+string(kind)) {
		t.Errorf("%s: %s %v", block, answer, err)
	}
}

// numbered repeats a format with the numbers from zero.
func numbered(n int, format string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

func texts[T any](list []T, text func(T) string) []string {
	var out []string
	for _, v := range list {
		out = append(out, text(v))
	}
	return out
}

// compare expects the entries with the numbers in [from, to).
func compare[T any](t *testing.T, format string, from, to int, list []T, text func(T) string) {
	t.Helper()
	var want []string
	for n := from; n < to; n++ {
		want = append(want, fmt.Sprintf(format, n))
	}
	if diff := cmp.Diff(want, texts(list, text)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
