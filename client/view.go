package client

import (
	"context"
	"net/url"

	"github.com/retinue-dev/retinue/wire"
)

// TaskOptions ask for some of all tasks. Empty fields ask for all; Cursor is from the page before.
type TaskOptions struct {
	Status, Role, By, Conversation string
	// MinCost is in millionths of a US dollar.
	MinCost int64
	Limit   int
	Cursor  string
}

// Workspaces are those that conversations of the tenant may name.
func (c *Client) Workspaces(ctx context.Context) ([]wire.WorkspaceInfo, error) {
	return items[wire.WorkspaceInfo](ctx, c, nil, "workspaces")
}

// Settings says how the installation is set up.
func (c *Client) Settings(ctx context.Context) (wire.Settings, error) {
	return read[wire.Settings](ctx, c, nil, "settings")
}

// Files are paths of a workspace that hold a text.
func (c *Client) Files(ctx context.Context, workspace, part string) (wire.FileList, error) {
	q := url.Values{}
	text(q, "workspace", workspace)
	text(q, "q", part)
	return read[wire.FileList](ctx, c, q, "files")
}

// ModelCall is one model call, of an agent's first task unless another is named.
func (c *Client) ModelCall(ctx context.Context, conversation, agent, task, call string) (wire.ModelCallView, error) {
	q := url.Values{}
	text(q, "task", task)
	return read[wire.ModelCallView](ctx, c, q, "conversations", conversation, "agents", inAddress(agent), "model-calls", call)
}

// AllTasks are the tasks of agents in all conversations, the newest first.
func (c *Client) AllTasks(ctx context.Context, o TaskOptions) (wire.TaskLines, error) {
	q := url.Values{}
	text(q, "status", o.Status)
	text(q, "role", o.Role)
	text(q, "by", o.By)
	text(q, "conversation", o.Conversation)
	number(q, "min_cost_micro_usd", o.MinCost)
	number(q, "limit", int64(o.Limit))
	text(q, "cursor", o.Cursor)
	return read[wire.TaskLines](ctx, c, q, "tasks")
}

// Role is one role of a workspace.
func (c *Client) Role(ctx context.Context, workspace, name string) (wire.Role, error) {
	q := url.Values{}
	text(q, "workspace", workspace)
	return read[wire.Role](ctx, c, q, "roles", name)
}
