package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statuses lists every status: its word, whether it is terminal, and what a sub-agent in it shows
// while it waits for nothing, for the user's input and for an approval.
var statuses = []struct {
	status   Status
	word     string
	terminal bool
	shown    [3]string
}{
	{StatusQueued, "queued", false, [3]string{"active", "active", "active"}},
	{StatusPending, "pending", false, [3]string{"active", "active", "active"}},
	{StatusRunning, "running", false, [3]string{"active", "active", "active"}},
	{StatusWaiting, "waiting", false, [3]string{"active", "waiting_for_user", "active"}},
	{StatusCompleted, "completed", true, [3]string{"completed", "completed", "completed"}},
	{StatusFailed, "failed", true, [3]string{"failed", "failed", "failed"}},
	{StatusCancelled, "cancelled", true, [3]string{"failed", "failed", "failed"}},
	{StatusTimedOut, "timed_out", true, [3]string{"failed", "failed", "failed"}},
	{"no such status", "no such status", false, [3]string{"active", "active", "active"}},
}

// TestStatusIsOneEnum lists the words that tasks and agents share, and which of them are final.
//
// Covers: R-026, E-93.
func TestStatusIsOneEnum(t *testing.T) {
	var known []Status
	for _, c := range statuses[:len(statuses)-1] {
		known = append(known, c.status)
	}
	wantEvery(t, "Status", known)
	for _, c := range statuses {
		if string(c.status) != c.word {
			t.Errorf("the word is %q, want %q", c.status, c.word)
		}
		if got := c.status.Terminal(); got != c.terminal {
			t.Errorf("%s: terminal is %t, want %t", c.status, got, c.terminal)
		}
	}
}

// TestAgentStatusIsAProjection derives a sub-agent's four names from the task's status and the
// reason to wait, and from nothing else.
//
// Covers: R-033, E-93.
func TestAgentStatusIsAProjection(t *testing.T) {
	reasons := [3]WaitReason{"", WaitUserInput, WaitApproval}
	wantEvery(t, "WaitReason", reasons[1:])
	if diff := cmp.Diff([3]WaitReason{"", "user_input", "approval"}, reasons); diff != "" {
		t.Errorf("words (+) against the wanted ones (-):\n%s", diff)
	}
	for _, c := range statuses {
		var got [3]string
		for i, reason := range reasons {
			got[i] = AgentStatus(c.status, reason)
		}
		if diff := cmp.Diff(c.shown, got); diff != "" {
			t.Errorf("%s shows (+) against the wanted (-), for %q:\n%s", c.status, reasons, diff)
		}
	}
}
