package agent_test

import (
	"errors"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
)

// TestNewerRulesAreRefused: after a rollback an older core must not guess what a newer state means.
func TestNewerRulesAreRefused(t *testing.T) {
	s := agent.State{Rules: agent.Rules + 1, Phase: agent.Idle}
	_, _, err := agent.Step(s, agent.Ticked{})
	refused, ok := errors.AsType[*agent.Refusal](err)
	if !ok || refused.Kind != agent.Invalid {
		t.Errorf("got %v", err)
	}
}
