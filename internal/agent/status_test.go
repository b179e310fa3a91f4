package agent_test

import (
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// TestStatusOfEachPhase shows a state as the status of its task.
//
//
func TestStatusOfEachPhase(t *testing.T) {
	for _, test := range []struct {
		name   string
		steps  []string
		status chat.Status
		reason chat.WaitReason
	}{
		{"unborn", nil, chat.StatusPending, ""},
		{"idle", []string{"begin orchestrator"}, chat.StatusCompleted, ""},
		{"thinking", []string{"begin reader"}, chat.StatusRunning, ""},
		{"working", []string{"begin reader", "replied 1\n  read_file"}, chat.StatusRunning, ""},
		{"asking", []string{"begin reader", "replied 1\n  ask year"}, chat.StatusWaiting, chat.WaitUserInput},
		{"approval", []string{"begin coder", "replied 1\n  shell"}, chat.StatusWaiting, chat.WaitApproval},
		{"stopping", []string{"begin reader", "cancel r1 user"}, chat.StatusRunning, ""},
		{"submitted", []string{"begin reader", "replied 1\n  submit"}, chat.StatusCompleted, ""},
		{"cancelled", []string{"begin reader", "cancel r1 user", "cancel r2 user"}, chat.StatusCancelled, ""},
	} {
		var s agent.State
		if test.steps != nil {
			s = played(t, test.steps...).state
		}
		if status, reason := s.Status(); status != test.status || reason != test.reason {
			t.Errorf("%s is %s(%s), want %s(%s)", test.name, status, reason, test.status, test.reason)
		}
	}
}
