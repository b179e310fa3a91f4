package leg

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/tool"
)

// abandon ends a leg that the engine or its own worker has given up. Another leg runs the task, and
// the results of this one's programs are dropped. For a call that must not run twice it records
// what it knows.
func (l *leg) abandon(ctx context.Context, why error) error {
	waits := map[string]*effectRun{}
	for key, f := range l.running {
		f.cancel(fmt.Errorf("%w: %w", tool.ErrGivenUp, why))
		switch e := f.effect.(type) {
		case agent.RunTool:
			if !e.Local() {
				waits[key] = f
			}
		case agent.StartChild: // it does the same
			waits[key] = f
		default:
		}
	}
	late := time.After(DrainGrace)
	for len(waits) > 0 {
		select {
		case end := <-l.landed:
			f, ok := waits[end.key]
			delete(waits, end.key)
			if !ok {
				continue
			}
			rows := end.rows
			if run, ok := f.effect.(agent.RunTool); ok && len(rows) == 0 && end.err == nil {
				rows = l.cutOff(run.Call, f.began)
			}
			if len(rows) > 0 {
				if err := l.record(ctx, rows); err != nil {
					return err
				}
			}
		case <-late:
			waits = nil
		}
	}
	// Somebody may have rung here who relies on a look at the mail.
	l.tellEngine(ctx, l.in.Ref, l.in.Agent, SignalLook)
	return fmt.Errorf("this leg is given up: %w", why)
}

// abort ends effects that the core no longer waits for. An effect that has not begun ends at once.
func (l *leg) abort() {
	for _, e := range slices.Clone(l.todo) {
		var target string
		var end agent.Event
		switch e := e.(type) {
		case agent.AbortModel:
			target = agent.CallModel{Turn: e.Turn, Attempt: e.Attempt}.Key()
			end = agent.ModelFailed{At: l.At(), Turn: e.Turn, Attempt: e.Attempt, Kind: "cancelled"}
		case agent.AbortTool:
			target = agent.RunTool{Call: e.Call}.Key()
			end = agent.ToolDone{At: l.At(), Call: e.Call, Result: agent.ToolCancelled}
		default:
			continue
		}
		l.drop(e.Key())
		if f, ok := l.running[target]; ok {
			f.cancel(nil)
			continue
		}
		if l.drop(target) {
			l.running[target] = &effectRun{cancel: func(error) {}}
			l.landed <- completion{key: target, event: end}
		}
	}
}
