package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Agent is whose work is told of.
type Agent struct {
	Tenant, Conversation, Path, Task, Role string
	Depth                                  int
	// First means that the agent begins, for the first time.
	First bool
}

func (a Agent) attributes(operation string) []attribute.KeyValue {
	list := []attribute.KeyValue{
		keyOperation.String(operation), keyConversation.String(a.Conversation), keyAgentID.String(a.Path), keyPath.String(a.Path),
		keyDepth.Int(a.Depth), keyTask.String(a.Task), keyTenant.String(a.Tenant),
	}
	if a.Role != "" {
		list = append(list, keyAgentName.String(a.Role))
	}
	return list
}

// Chat is a call of a model.
type Chat struct {
	Provider, Model string
	MaxTokens       int
	Temperature     *float64
	// Input is the input, as JSON; it is left out unless content is wanted.
	Input func() string
}

// ChatEnd is how a call of a model ended. InputTokens are all, those of the cache included.
type ChatEnd struct {
	Model, ID, Stop                                  string
	InputTokens, OutputTokens, CacheRead, CacheWrite int64
	// Fault is the kind of failure; empty if there was none.
	Fault  string
	Output func() string
}

// Call is a call of a tool.
type Call struct {
	Tool, ID, Arguments string
}

// CallEnd is how a call of a tool ended.
type CallEnd struct {
	Fault, Result string
}

// Agent begins the span of an agent's work. End gets its role and its error.
func (t *Tracer) Agent(ctx context.Context, a Agent) (_ context.Context, end func(role, fault string)) {
	if t == nil {
		return ctx, func(string, string) {}
	}
	parent := a.Path
	started := ctx
	if a.First {
		parent = above(a.Path)
		started = context.WithValue(ctx, wantedKey{}, wanted{traceOf(a.Tenant, a.Conversation), spanOf(a.Tenant, a.Conversation, a.Path)})
	}
	_, span := t.tracer.Start(within(started, a.Tenant, a.Conversation, parent), operationAgent,
		trace.WithAttributes(a.attributes(operationAgent)...))
	return trace.ContextWithSpan(ctx, span), func(role, fault string) {
		if role != "" {
			span.SetName(operationAgent + " " + role)
			span.SetAttributes(keyAgentName.String(role))
		}
		finish(span, fault)
	}
}

// Chat tells of a call of a model.
func (t *Tracer) Chat(ctx context.Context, a Agent, c Chat) (context.Context, func(ChatEnd)) {
	if t == nil {
		return ctx, func(ChatEnd) {}
	}
	began := time.Now()
	basic := []attribute.KeyValue{keyOperation.String(operationChat), keyProvider.String(c.Provider), keyModel.String(c.Model)}
	ctx, span := t.tracer.Start(ctx, operationChat+" "+c.Model, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(a.attributes(operationChat), basic...)...))
	if c.MaxTokens > 0 {
		span.SetAttributes(keyMaxTokens.Int(c.MaxTokens))
	}
	if c.Temperature != nil {
		span.SetAttributes(keyTemperature.Float64(*c.Temperature))
	}
	if t.content && c.Input != nil {
		span.SetAttributes(keyInputMessages.String(c.Input()))
	}
	return ctx, func(e ChatEnd) {
		span.SetAttributes(keyReplyModel.String(e.Model), keyReplyID.String(e.ID), keyFinish.StringSlice([]string{e.Stop}),
			keyInput.Int64(e.InputTokens), keyOutput.Int64(e.OutputTokens), keyCacheRead.Int64(e.CacheRead), keyCacheWrite.Int64(e.CacheWrite))
		if t.content && e.Output != nil {
			span.SetAttributes(keyOutputMessages.String(e.Output()))
		}
		if e.Fault != "" {
			basic = append(basic, keyError.String(e.Fault))
		}
		t.duration.Record(ctx, took(began), metric.WithAttributes(basic...))
		t.tokens.Record(ctx, e.InputTokens, metric.WithAttributes(append(basic[:3:3], keyTokenType.String(tokenInput))...))
		t.tokens.Record(ctx, e.OutputTokens, metric.WithAttributes(append(basic[:3:3], keyTokenType.String(tokenOutput))...))
		finish(span, e.Fault)
	}
}

// Call tells of a call of a tool.
func (t *Tracer) Call(ctx context.Context, a Agent, c Call) (context.Context, func(CallEnd)) {
	if t == nil {
		return ctx, func(CallEnd) {}
	}
	began := time.Now()
	basic := []attribute.KeyValue{keyOperation.String(operationTool), keyToolName.String(c.Tool)}
	ctx, span := t.tracer.Start(ctx, operationTool+" "+c.Tool,
		trace.WithAttributes(append(a.attributes(operationTool), keyToolName.String(c.Tool), keyToolCall.String(c.ID))...))
	if t.content {
		span.SetAttributes(keyToolArguments.String(c.Arguments))
	}
	return ctx, func(e CallEnd) {
		if t.content {
			span.SetAttributes(keyToolResult.String(e.Result))
		}
		if e.Fault != "" {
			basic = append(basic, keyError.String(e.Fault))
		}
		t.duration.Record(ctx, took(began), metric.WithAttributes(basic...))
		finish(span, e.Fault)
	}
}
