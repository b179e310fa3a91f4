package leg

import (
	"context"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

func (l *leg) prepareTool(ctx context.Context, e agent.RunTool) ([]journal.Row, func(), error) {
	part, err := l.called(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	p := host.Permit{RunRef: l.in.RunRef.Within(&l.position.State), Brief: l.position.State.Brief, Run: e, Part: part}
	if !e.Local() {
		return nil, l.launch(ctx, e, func(ctx context.Context) completion { return completionOf(l.RunOnce(ctx, p)) }), nil
	}
	if e.Approved {
		return nil, l.launch(ctx, e, func(ctx context.Context) completion { return completionOf(l.RunApproved(ctx, p)) }), nil
	}
	reason, err := l.Authorise(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if reason != "" {
		done := agent.ToolDone{At: l.At(), Call: e.Call, Result: agent.ToolDenied, Reason: reason}
		return nil, l.launch(ctx, e, func(context.Context) completion { return completion{event: done} }), nil
	}
	return []journal.Row{p.Started(l.Name)}, l.launch(ctx, e, func(ctx context.Context) completion {
		return completionOf(l.RunTool(ctx, p))
	}), nil
}

// completionOf is the end of a tool call as a leg takes it in.
func completionOf(end host.End) completion {
	return completion{event: end.Event, rows: end.Rows, err: end.Err}
}

// cutOff is the result of a call that the engine has given up and that was stopped then, if no
// other is on record yet. Otherwise the model was told that the outcome is unknown, and that
// stands.
func (l *leg) cutOff(call string, began time.Time) []journal.Row {
	ran := l.Now().Sub(began)
	return []journal.Row{journal.ToolReturned{
		In: l.in.In(), Call: call, Status: journal.CallIndeterminate, Duration: ran.Milliseconds(),
		Text: fmt.Sprintf("The worker was out of sight for so long that this call was given up. When it was back, %.1f seconds after "+
			"the call began, it stopped the call and everything that this had started. What was done by then stays done. It is not "+
			"run again: check before you repeat it.", ran.Seconds()),
	}}
}
