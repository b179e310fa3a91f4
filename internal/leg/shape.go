package leg

import (
	"context"
	"fmt"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
)

// output is what the results of an agent must fit.
func (l *leg) output(ctx context.Context, brief agent.Brief) (*host.Output, error) {
	snapshot := ""
	err := l.Patiently(ctx, func() (err error) {
		snapshot, err = l.Text(ctx, l.in.Ref, brief.RoleHash)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the role of %s: %w", brief.Agent, err)
	}
	shape, err := l.Catalog.Output(snapshot)
	if err == nil && shape == nil {
		err = &chat.Error{Code: chat.CodeInternal, Message: "the role has no schema for its results"}
	}
	return shape, err
}

// shape checks a result against the schema of its role. It is typed if it has no room for words:
// the schema is closed, and no files or patches come with it, since their names and contents are
// words too.
func (l *leg) shape(ctx context.Context, brief agent.Brief, args string) (problem string, typed bool) {
	shape, err := l.output(ctx, brief)
	if err != nil {
		l.Logger.ErrorContext(ctx, "no schema", "agent", brief.Agent, "error", err)
		return "the schema of your role could not be read; hand the same in again", false
	}
	task := ""
	err = l.Patiently(ctx, func() error {
		assigned, err := l.cache.assignment(ctx)
		task = assigned.Instruction
		return err
	})
	if err != nil {
		l.Logger.ErrorContext(ctx, "no task", "agent", brief.Agent, "error", err)
		return "your task could not be read; hand the same in again", false
	}
	if err := shape.Check(args, task); err != nil {
		return err.Error(), false
	}
	return "", shape.Closed && !brief.Authority.Write
}
