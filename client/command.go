package client

import (
	"context"
	"io"
	"net/http"

	"github.com/retinue-dev/retinue/wire"
)

// Create begins a conversation.
func (c *Client) Create(ctx context.Context, n wire.NewConversation) (out wire.Conversation, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("conversations"), body: n, keyed: true}, &out)
	return out, err
}

// Post says something to the orchestrator, or answers a question.
func (c *Client) Post(ctx context.Context, conversation string, m wire.NewMessage) (out wire.Message, err error) {
	err = c.call(ctx, request{
		method: http.MethodPost, path: at("conversations", conversation, "messages"), body: m, keyed: true,
	}, &out)
	return out, err
}

// Decide allows or denies a call.
func (c *Client) Decide(ctx context.Context, conversation, approval string, d wire.Decision) (out wire.Approval, err error) {
	err = c.call(ctx, request{
		method: http.MethodPost, path: at("conversations", conversation, "approvals", approval, "decision"), body: d, keyed: true,
	}, &out)
	return out, err
}

// Cancel stops a task with all below it, or everything if it names none.
func (c *Client) Cancel(ctx context.Context, conversation, task string) (out wire.Accepted, err error) {
	body := struct {
		Task string `json:"task,omitempty"`
	}{task}
	err = c.call(ctx, request{
		method: http.MethodPost, path: at("conversations", conversation, "cancel"), body: body, keyed: true,
	}, &out)
	return out, err
}

// Share shows a private conversation to everybody in the tenant, for good.
func (c *Client) Share(ctx context.Context, conversation string) (out wire.Accepted, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("conversations", conversation, "share"), keyed: true}, &out)
	return out, err
}

// Archive takes a conversation off the list.
func (c *Client) Archive(ctx context.Context, conversation string) (out wire.Accepted, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("conversations", conversation, "archive"), keyed: true}, &out)
	return out, err
}

// Delete stops everything in a conversation, then removes it.
func (c *Client) Delete(ctx context.Context, conversation string) (out wire.Accepted, err error) {
	err = c.call(ctx, request{method: http.MethodDelete, path: at("conversations", conversation), keyed: true}, &out)
	return out, err
}

// Import makes a conversation that can only be read out of what Export wrote.
func (c *Client) Import(ctx context.Context, lines io.ReadSeeker) (out wire.Conversation, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("import"), lines: lines, keyed: true}, &out)
	return out, err
}
