package leg

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// position is an agent on its way: its state, and how many events led there.
type position struct {
	State agent.State
	N     int
}

// stepped is what one event led to.
type stepped struct {
	N       int
	Event   agent.Event
	Effects []agent.Effect
	Move    *StatusChange
}

// StatusChange says that the status of a task changed with an event.
type StatusChange struct {
	N      int             `json:"n"`
	Status chat.Status     `json:"status"`
	Reason chat.WaitReason `json:"reason,omitempty"`
}

// take gives the core an event. A refusal leaves the position as it was.
func (c *position) take(e agent.Event) (stepped, error) {
	was, why := c.State.Status()
	next, effects, err := agent.Step(c.State, e)
	if err != nil {
		return stepped{}, err
	}
	c.State = next
	c.N++
	s := stepped{N: c.N, Event: e, Effects: effects}
	if is, reason := next.Status(); is != was || reason != why {
		s.Move = &StatusChange{N: c.N, Status: is, Reason: reason}
	}
	return s, nil
}

// retake is take for an event that was handled before, elsewhere: it cannot be refused.
func (c *position) retake(e agent.Event) (stepped, error) {
	s, err := c.take(e)
	if err != nil {
		return s, fmt.Errorf("fold step %d, %s: %w", c.N+1, agent.EventName(e), err)
	}
	return s, nil
}

// unsettled reports whether a refused event should be offered again later.
func unsettled(err error) bool {
	var r *agent.Refusal
	return errors.As(err, &r) && (r.Kind == agent.Gap || r.Kind == agent.Full)
}

// written reports whether an effect is carried out by writing to the journal: a record, or mail.
func written(e agent.Effect) bool {
	switch e.(type) {
	case agent.StopChild, agent.TellParent, agent.Ask, agent.WithdrawQuestion, agent.Reply, agent.Correct, agent.Finish:
		return true
	default:
		return e.Record()
	}
}

func encodeEffects(effects []agent.Effect) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(effects))
	for _, e := range effects {
		body, err := agent.MarshalEffect(e)
		if err != nil {
			return nil, err
		}
		out = append(out, body)
	}
	return out, nil
}

func decodeEffects(bodies []json.RawMessage) ([]agent.Effect, error) {
	out := make([]agent.Effect, 0, len(bodies))
	for _, body := range bodies {
		e, err := agent.UnmarshalEffect(body)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
