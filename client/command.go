package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// NewConversation is a conversation to be begun. All of it may be empty.
type NewConversation struct {
	Title     string `json:"title,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	// Role is who talks to you, and Model replaces the role's.
	Role  string `json:"role,omitempty"`
	Model string `json:"model,omitempty"`
	// Headless means that nobody is there: what would be asked is declined.
	Headless bool `json:"headless,omitempty"`
	// MaxCost bounds the conversation, in millionths of a US dollar.
	MaxCost int64 `json:"max_cost_micro_usd,omitempty"`
	// MaxDuration bounds each turn, in milliseconds; waiting for a person does not count.
	MaxDuration int64 `json:"max_duration_ms,omitempty"`
	// Message is the first message.
	Message string `json:"message,omitempty"`
	// Visibility is tenant or private: only you see a private conversation until you share it. Empty means tenant.
	Visibility string `json:"visibility,omitempty"`
}

// Create begins a conversation.
func (c *Client) Create(ctx context.Context, n NewConversation) (out Conversation, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("conversations"), body: n, keyed: true}, &out)
	return out, err
}

// NewMessage is something to say. InReplyTo names the question that it answers, or declines to.
type NewMessage struct {
	Text      string `json:"text"`
	InReplyTo string `json:"in_reply_to,omitempty"`
	Decline   bool   `json:"decline,omitempty"`
}

// Post says something to the orchestrator, or answers a question.
func (c *Client) Post(ctx context.Context, conversation string, m NewMessage) (out Message, err error) {
	err = c.call(ctx, request{
		method: http.MethodPost, path: at("conversations", conversation, "messages"), body: m, keyed: true,
	}, &out)
	return out, err
}

// Decision is what a person says to an approval. Hash is the approval's, so that what was shown is
// what is decided. Scope is once, task or conversation; empty means once. Args, a JSON object, are what
// the call is allowed with instead of the agent's arguments, for once.
type Decision struct {
	Allow bool            `json:"allow"`
	Hash  string          `json:"hash"`
	Scope string          `json:"scope,omitempty"`
	Note  string          `json:"note,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
}

// Decide allows or denies a call.
func (c *Client) Decide(ctx context.Context, conversation, approval string, d Decision) (out Approval, err error) {
	err = c.call(ctx, request{
		method: http.MethodPost, path: at("conversations", conversation, "approvals", approval, "decision"), body: d, keyed: true,
	}, &out)
	return out, err
}

// Cancel stops a task with all below it, or everything if it names none.
func (c *Client) Cancel(ctx context.Context, conversation, task string) (out Accepted, err error) {
	body := struct {
		Task string `json:"task,omitempty"`
	}{task}
	err = c.call(ctx, request{
		method: http.MethodPost, path: at("conversations", conversation, "cancel"), body: body, keyed: true,
	}, &out)
	return out, err
}

// Share lets everybody in the tenant see a private conversation. It stays so.
func (c *Client) Share(ctx context.Context, conversation string) (out Accepted, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("conversations", conversation, "share"), keyed: true}, &out)
	return out, err
}

// Archive takes a conversation off the list.
func (c *Client) Archive(ctx context.Context, conversation string) (out Accepted, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("conversations", conversation, "archive"), keyed: true}, &out)
	return out, err
}

// Delete stops everything in a conversation, then removes it.
func (c *Client) Delete(ctx context.Context, conversation string) (out Accepted, err error) {
	err = c.call(ctx, request{method: http.MethodDelete, path: at("conversations", conversation), keyed: true}, &out)
	return out, err
}

// Import makes a conversation that can only be read out of what Export wrote.
func (c *Client) Import(ctx context.Context, lines io.ReadSeeker) (out Conversation, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("import"), lines: lines, keyed: true}, &out)
	return out, err
}
