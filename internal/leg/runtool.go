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
	p := host.Permit{Whose: l.in.Whose.Within(&l.course.State), Brief: l.course.State.Brief, Run: e, Part: part}
	if !e.Local() {
		return nil, l.launch(ctx, e, func(ctx context.Context) landing { return landingOf(l.RunOnce(ctx, p)) }), nil
	}
	if e.Approved {
		return nil, l.launch(ctx, e, func(ctx context.Context) landing { return landingOf(l.RunApproved(ctx, p)) }), nil
	}
	reason, err := l.Authorise(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if reason != "" {
		done := agent.ToolDone{At: l.At(), Call: e.Call, Result: agent.ToolDenied, Reason: reason}
		return nil, l.launch(ctx, e, func(context.Context) landing { return landing{event: done} }), nil
	}
	return []journal.Row{p.Started(l.Name)}, l.launch(ctx, e, func(ctx context.Context) landing {
		return landingOf(l.RunTool(ctx, p))
	}), nil
}

// landingOf is the end of a tool call as a leg takes it in.
func landingOf(end host.End) landing { return landing{event: end.Event, rows: end.Rows, err: end.Err} }

// cutOff is the result of a call that the engine has given up and that was stopped then, if no other is on record yet; else the
// model was told that nobody knows, and that stands.
func (l *leg) cutOff(call string, began time.Time) []journal.Row {
	ran := l.Now().Sub(began)
	return []journal.Row{journal.Resulted{
		In: l.in.In(), Call: call, Status: journal.CallIndeterminate, Duration: ran.Milliseconds(),
		Text: fmt.Sprintf("The worker was out of sight for so long that this call was given up. When it was back, %.1f seconds after "+
			"the call began, it stopped the call and everything that this had started. What was done by then stays done. It is not "+
			"run again: check before you repeat it.", ran.Seconds()),
	}}
}
