package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// callTime is how long a call may take, the start of its server included.
const callTime = 2 * time.Minute

// remote is a tool of a server, as it was approved.
type remote struct {
	link *link
	pin  Offer
}

// Definition implements tool.Tool. Nothing that a server hints at is in it.
func (r *remote) Definition() tool.Definition {
	d := AnyTool(r.pin.Tool)
	d.Description, d.Schema = r.pin.Description, r.pin.Schema
	return d
}

// AnyTool is the worst case, assumed of every tool of a server before it runs.
func AnyTool(name string) tool.Definition {
	return tool.Definition{Name: name, Class: chat.ClassOnce, Writes: true, Network: true, Timeout: callTime}
}

// Binding is the content that an approval of a call is bound to: the configured server and the
// described tool.
func (r *remote) Binding(context.Context, tool.Call) (string, error) {
	if err := r.link.holds(r.pin); err != nil {
		return "", err
	}
	return "mcp:" + r.link.entry.Identity() + ":" + r.pin.Hash, nil
}

// Run implements tool.Tool.
func (r *remote) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	s, err := r.link.connect(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if err := r.link.fresh(ctx, s); err != nil {
		return tool.Result{}, r.lost(ctx, s, err)
	}
	if err := r.link.holds(r.pin); err != nil {
		return tool.Result{}, err
	}
	leave, err := s.peer.callers.join(ctx, s.peer.gate)
	if err != nil {
		return tool.Result{}, err
	}
	defer leave()
	given, err := s.call(ctx, r.link.options.ping, &sdk.CallToolParams{Name: r.pin.Name, Arguments: call.Args})
	if err != nil {
		return tool.Result{}, r.lost(ctx, s, err)
	}
	return resultOf(given, s.peer.hide)
}

// lost explains why there is no result.
func (r *remote) lost(ctx context.Context, s *session, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused := new(jsonrpc.Error); errors.As(err, &refused) {
		return tool.Refuse("server %s could not carry it out: %s", r.link.entry.Name, s.peer.hide.Replace(cut(visible(refused.Message), 1000)))
	}
	return &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf(
		"server %s was lost during the call, so nobody knows whether it was carried out: %s. It is started again at the next call.",
		r.link.entry.Name, s.farewell(err, r.link.options.own))}
}

// holds complains if a server does not describe a tool any more as it was approved.
func (l *link) holds(pin Offer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listed == nil {
		return nil // it has not been asked yet
	}
	for _, o := range l.listed {
		if o.Name == pin.Name && o.Problem == "" && o.Hash == pin.Hash {
			return nil
		}
	}
	return &chat.Error{Code: chat.CodeDenied, Message: "the tool changed since it was approved: run retinue mcp approve " + l.entry.Name}
}
