package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/sim"
)

// recorder checks every step of a run against what must always be true. The scripts, the table and
// the properties all step through it.
type recorder struct {
	keys   map[string]bool
	events [][]byte
	scribe *sim.Scribe
}

func newRecorder() *recorder { return &recorder{keys: map[string]bool{}} }

func (r *recorder) check(
	before agent.State, e agent.Event, after agent.State, effects []agent.Effect, refused error,
) error {
	if refused != nil {
		return checkRefusal(before, after, effects, refused)
	}
	data, err := agent.MarshalEvent(e)
	if err != nil {
		return err
	}
	r.events = append(r.events, data)
	if err := sim.Check(before, e, after, effects); err != nil {
		return err
	}
	if r.scribe == nil {
		r.scribe = sim.NewScribe(after.Brief.Depth > 0)
	}
	if err := r.scribe.Write(e, effects); err != nil {
		return err
	}
	for _, effect := range effects {
		if r.keys[effect.Key()] {
			return fmt.Errorf("effect %s was ordered twice", effect.Key())
		}
		r.keys[effect.Key()] = true
	}
	return checkJSON(after)
}

func checkRefusal(before, after agent.State, effects []agent.Effect, refused error) error {
	if _, ok := errors.AsType[*agent.Refusal](refused); !ok {
		return fmt.Errorf("Step failed without a refusal: %w", refused)
	}
	if len(effects) != 0 || !reflect.DeepEqual(before, after) {
		return fmt.Errorf("a refused event changed something: %w", refused)
	}
	return nil
}

// checkJSON shows that a state survives JSON.
func checkJSON(s agent.State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if len(s.Children) == 0 && len(data) > 16<<10 {
		return fmt.Errorf("the state takes %d bytes although no child is open", len(data))
	}
	var back agent.State
	if err := json.Unmarshal(data, &back); err != nil {
		return err
	}
	if !reflect.DeepEqual(s, back) {
		return fmt.Errorf("the state does not survive JSON: %s", data)
	}
	return nil
}

// step is Step, checked against the laws of single steps.
func step(r *run, e agent.Event) (agent.State, error) {
	next, effects, err := agent.Step(r.state, e)
	if err == nil {
		err = sim.Check(r.state, e, next, effects)
	}
	return next, err
}
