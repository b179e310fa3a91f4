package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// A conversation is one trace. Its id, and that of the first span of each agent, are made of the
// ids that every process knows, so that spans of different processes find each other without
// anything being passed along: nothing of a trace goes through the engine.

// traceOf is the trace of a conversation.
func traceOf(tenant, conversation string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte("trace\x00" + tenant + "\x00" + conversation))
	copy(id[:], sum[:])
	return id
}

// spanOf is the first span of an agent.
func spanOf(tenant, conversation, path string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("span\x00" + tenant + "\x00" + conversation + "\x00" + path))
	copy(id[:], sum[:])
	return id
}

// within is the context for spans below an agent's first span, or for root spans without an agent.
func within(ctx context.Context, tenant, conversation, path string) context.Context {
	if path == "" {
		return trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	}
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceOf(tenant, conversation), SpanID: spanOf(tenant, conversation, path), TraceFlags: trace.FlagsSampled, Remote: true,
	}))
}

// above is the path of the agent that an agent works for.
func above(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

type wanted struct {
	trace trace.TraceID
	span  trace.SpanID
}

type wantedKey struct{}

// identities gives spans the ids that are wanted, and others random ones.
type identities struct{}

// NewIDs implements the SDK's IDGenerator.
func (identities) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if w, ok := ctx.Value(wantedKey{}).(wanted); ok {
		return w.trace, w.span
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // it never fails
	return id, randomSpan()
}

// NewSpanID implements the SDK's IDGenerator.
func (identities) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if w, ok := ctx.Value(wantedKey{}).(wanted); ok {
		return w.span
	}
	return randomSpan()
}

func randomSpan() (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}
