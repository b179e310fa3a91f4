package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Verdict is the verdict of the role's rules on a call, together with people's decisions in this
// conversation on all calls like it.
func (h *Host) Verdict(
	ctx context.Context, ref journal.Ref, role string, d tool.Definition, about tool.About,
) (policy agent.Policy, err error) {
	snapshot := ""
	err = h.Patiently(ctx, func() (err error) {
		snapshot, err = h.Text(ctx, ref, role)
		return err
	})
	if err != nil {
		return agent.PolicyAsk, err
	}
	policy, err = h.Catalog.Verdict(snapshot, d.Name, about.Matters)
	if err != nil || about.Pattern == "" || !asks(policy, d) {
		return policy, err
	}
	granted := false
	err = h.Patiently(ctx, func() (err error) {
		granted, err = h.granted(ctx, ref, d.Name, about.Pattern)
		return err
	})
	if granted {
		policy = agent.PolicyAllow
	}
	return policy, err
}

// asks reports whether a person is asked about a call of a tool for which the rules come to a
// policy.
func asks(policy agent.Policy, d tool.Definition) bool {
	return agent.Call{Policy: policy, Writes: d.Writes, Network: d.Network}.Asks()
}

// Said is the message of an error for the person who can act on it.
func Said(err error) string {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// Edited is a decision's description of the call with other arguments, nil if it gives none.
func Edited(d journal.ApprovalDecided) (*agent.Call, error) {
	if d.Args == "" {
		return nil, nil //nolint:nilnil // most decisions give none
	}
	var c agent.Call
	if err := json.Unmarshal(d.Edited, &c); err != nil {
		return nil, fmt.Errorf("read the decisions about call %s: %w", d.Call, err)
	}
	return &c, nil
}
