package leg

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/journal"
)

// saveEvery is how often a step is recorded together with the state, so that nobody has to fold
// more steps than so many.
const saveEvery = 200

// fold brings the leg to the task's last step in the journal. Effects that were ordered and not
// answered remain to be carried out. A cache from an earlier leg may be behind: a leg that the
// engine had given up may have recorded more.
func (l *leg) fold(ctx context.Context) error {
	after := l.position.N
	if after == 0 {
		after = max(0, l.in.Base-1)
	}
	steps, err := l.Log.Steps(ctx, l.in.Ref, l.in.Task, after)
	if err != nil {
		return fmt.Errorf("read the steps of %s: %w", l.in.Task, err)
	}
	if len(steps) > 0 {
		l.cache.messages, l.cache.read = nil, false
	}
	for _, step := range steps {
		if len(step.State) > 0 {
			if err := l.restore(step); err != nil {
				return err
			}
			continue
		}
		e, err := agent.UnmarshalEvent(step.Event)
		if err != nil {
			return fmt.Errorf("%w carry this task on: %w", errNewer, err)
		}
		s, err := l.position.retake(e)
		if err != nil {
			return err
		}
		l.forget(e)
		l.owe(s.Effects)
	}
	return nil
}

// saved is the state as a step keeps it, with the effects that remain.
type saved struct {
	Position position          `json:"position"`
	Todo     []json.RawMessage `json:"todo,omitempty"`
}

// save is the state as it is now.
func (l *leg) save() (json.RawMessage, error) {
	todo, err := encodeEffects(l.outstanding())
	if err != nil {
		return nil, err
	}
	return json.Marshal(saved{Position: l.position, Todo: todo})
}

// outstanding are the effects that remain, with those under way.
func (l *leg) outstanding() []agent.Effect {
	out := slices.Clone(l.todo)
	for _, e := range l.apart {
		out = append(out, e)
	}
	runs := l.position.State.Running()
	for _, f := range l.running {
		child, ok := f.effect.(agent.StartChild)
		if f.effect != nil && (!ok || !runs[child.Task]) {
			out = append(out, f.effect)
		}
	}
	return out
}

// restore takes up the state that a step has.
func (l *leg) restore(step journal.Stepped) error {
	var s saved
	if err := json.Unmarshal(step.State, &s); err != nil {
		return fmt.Errorf("read the state of %s at step %d: %w", l.in.Task, step.N, err)
	}
	todo, err := decodeEffects(s.Todo)
	if err != nil {
		return fmt.Errorf("read the remaining effects of %s at step %d: %w", l.in.Task, step.N, err)
	}
	l.position, l.todo, l.base = s.Position, todo, step.N
	return nil
}

// owe adds to the effects that remain. Records and mail are written with the step, and an ended
// child is not started any more.
func (l *leg) owe(effects []agent.Effect) {
	for _, e := range effects {
		if end, ok := e.(agent.EndTask); ok {
			l.drop(agent.StartChild{Task: end.Task}.Key())
		}
		if !written(e) {
			l.todo = append(l.todo, e)
		}
	}
}

// drop takes an effect off the list, and reports whether it was on it.
func (l *leg) drop(key string) bool {
	before := len(l.todo)
	l.todo = slices.DeleteFunc(l.todo, func(o agent.Effect) bool { return o.Key() == key })
	return len(l.todo) < before
}

// forget takes an effect off the list that an event answers.
func (l *leg) forget(e agent.Event) {
	switch e := e.(type) {
	case agent.Replied:
		l.drop(agent.CallModel{Turn: e.Turn, Attempt: e.Attempt}.Key())
	case agent.ModelFailed:
		l.drop(agent.CallModel{Turn: e.Turn, Attempt: e.Attempt}.Key())
	case agent.Compacted:
		l.drop(agent.CallModel{Turn: e.Turn, Attempt: e.Attempt}.Key())
	case agent.ToolDone:
		l.drop(agent.RunTool{Call: e.Call}.Key())
	case agent.Resolved:
		l.drop(agent.CallSide{Side: e.Side}.Key())
	case agent.Routed:
		l.drop(agent.CallSide{Side: e.Side}.Key())
	case agent.ChildStarted:
		l.drop(agent.StartChild{Task: e.Task}.Key())
	case agent.ChildEnded:
		l.drop(agent.StartChild{Task: e.Task}.Key())
	default:
	}
}
