package app

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/telemetry"
	"github.com/retinue-dev/retinue/internal/tool"
)

// flushTime is how long the last spans may take to be sent when a process ends.
const flushTime = 5 * time.Second

// closeTracer sends what is left. A collector that cannot be reached keeps nobody from ending.
func closeTracer(t *telemetry.Tracer) error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// observer tells collectors what a host does. Everything that was said goes through redact.
type observer struct {
	tracer *telemetry.Tracer
	redact func(string) string
}

func subject(run host.RunRef) telemetry.Agent {
	return telemetry.Agent{
		Tenant: run.Ref.Tenant, Conversation: run.Ref.Conversation, Path: run.Agent, Task: run.Task,
		Depth: chat.AgentPath(run.Agent).Depth(),
	}
}

// Leg implements host.Observer.
func (o observer) Leg(ctx context.Context, run host.RunRef, stage host.Stage) (context.Context, func(string, error)) {
	a := subject(run)
	a.First = stage == host.StageFirst
	ctx, end := o.tracer.Agent(ctx, a)
	return ctx, func(role string, err error) {
		fault := ""
		if err != nil {
			fault = string(chat.CodeOf(err))
		}
		end(role, fault)
	}
}

// Model implements host.Observer.
func (o observer) Model(
	ctx context.Context, run host.RunRef, req model.Request,
) (context.Context, func(model.Reply, *model.Error)) {
	provider, name, found := strings.Cut(req.Model, "/")
	if !found {
		provider, name = "", req.Model
	}
	ctx, end := o.tracer.Chat(ctx, subject(run), telemetry.Chat{
		Provider: provider, Model: name, MaxTokens: int(req.MaxOutput), Temperature: req.Temperature,
		Input: func() string { return o.spoken(req.Transcript) },
	})
	return ctx, func(reply model.Reply, failure *model.Error) {
		e := telemetry.ChatEnd{Model: reply.Model, ID: reply.ID, Stop: string(reply.Stop), Output: func() string { return o.spoken(reply.Parts) }}
		usage := reply.Usage
		if failure != nil {
			e.Fault, usage = string(failure.Kind), failure.Usage
		}
		e.InputTokens, e.OutputTokens, e.CacheRead, e.CacheWrite = usage.Input, usage.Output, usage.CacheRead, usage.CacheWrite
		end(e)
	}
}

// Tool implements host.Observer.
func (o observer) Tool(
	ctx context.Context, run host.RunRef, call agent.RunTool, part chat.Part,
) (context.Context, func(tool.Result, error)) {
	ctx, end := o.tracer.Call(ctx, subject(run), telemetry.Call{Tool: call.Tool, ID: call.Call, Arguments: o.redact(part.Args)})
	return ctx, func(r tool.Result, err error) {
		e := telemetry.CallEnd{Result: o.redact(r.Text)}
		switch {
		case ctx.Err() != nil:
			e.Fault = "cancelled"
		case err != nil:
			e.Fault = string(chat.CodeOf(err))
		case r.End != tool.EndOK:
			e.Fault = string(r.End)
		}
		end(e)
	}
}

// spoken is what was said, as JSON.
func (o observer) spoken(what any) string {
	text, err := json.Marshal(what)
	if err != nil {
		return ""
	}
	return o.redact(string(text))
}
