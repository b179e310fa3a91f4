package host

import (
	"context"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Observer is told of a host's work, for traces and metrics. Each method begins a span and returns
// its context, and the function to call at its end. It must not block and cannot fail.
type Observer interface {
	// Leg is an agent that works for a while. At the end its role is known.
	Leg(ctx context.Context, run RunRef, stage Stage) (context.Context, func(role string, err error))
	// Model is a call of a model.
	Model(ctx context.Context, run RunRef, req model.Request) (context.Context, func(model.Reply, *model.Error))
	// Tool is a call of a tool.
	Tool(ctx context.Context, run RunRef, call agent.RunTool, part chat.Part) (context.Context, func(tool.Result, error))
}

// Stage says which leg of a task it is.
type Stage string

// The stages. A leg that is made again because its first maker was lost is a later one.
const (
	StageFirst Stage = "first"
	StageLater Stage = "later"
)

// unobserved is the observer of hosts that nobody observes.
type unobserved struct{}

// Leg implements Observer.
func (unobserved) Leg(ctx context.Context, _ RunRef, _ Stage) (context.Context, func(string, error)) {
	return ctx, func(string, error) {}
}

// Model implements Observer.
func (unobserved) Model(ctx context.Context, _ RunRef, _ model.Request) (context.Context, func(model.Reply, *model.Error)) {
	return ctx, func(model.Reply, *model.Error) {}
}

// Tool implements Observer.
func (unobserved) Tool(
	ctx context.Context, _ RunRef, _ agent.RunTool, _ chat.Part,
) (context.Context, func(tool.Result, error)) {
	return ctx, func(tool.Result, error) {}
}
