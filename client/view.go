package client

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// AgentView is an agent with its tasks, whole, and how it was set up.
type AgentView struct {
	Agent
	Tasks  []TaskView  `json:"tasks"`
	Config AgentConfig `json:"config"`
}

// AgentConfig is how an agent was set up when it began. Origins and Source are there while the role's
// files still say the same, which is Current.
type AgentConfig struct {
	Role    json.RawMessage   `json:"role,omitempty"`
	Current bool              `json:"current"`
	Origins map[string]string `json:"origins,omitempty"`
	Source  string            `json:"source,omitempty"`
}

// ModelCallView is a model call with what was sent, as far as it is recorded, and what came back.
type ModelCallView struct {
	ModelCall
	Request   ModelRequest `json:"request"`
	Reply     []Part       `json:"reply"`
	Stop      string       `json:"stop,omitempty"`
	Message   string       `json:"message,omitempty"`
	Provider  string       `json:"provider_id,omitempty"`
	First     int64        `json:"first_token_ms,omitempty"`
	Waited    int64        `json:"waited_ms,omitempty"`
	Duration  int64        `json:"duration_ms,omitempty"`
	Retry     int64        `json:"retry_after_ms,omitempty"`
	Tries     []Try        `json:"tries,omitempty"`
	Unmetered bool         `json:"unmetered,omitempty"`
}

// ModelRequest is what a model was sent. Earlier says that there are messages before the first one.
type ModelRequest struct {
	System        string    `json:"system,omitempty"`
	Messages      []Message `json:"messages"`
	Earlier       bool      `json:"earlier,omitempty"`
	Tools         []string  `json:"tools"`
	Effort        string    `json:"effort,omitempty"`
	Temperature   *float64  `json:"temperature,omitempty"`
	MaxOutput     int64     `json:"max_output,omitempty"`
	ContextTokens int64     `json:"context_tokens,omitempty"`
}

// TaskLine is a task in a list across conversations. By is who began the conversation.
type TaskLine struct {
	Task
	Conversation string `json:"conversation"`
	Talk         string `json:"conversation_title"`
	By           string `json:"by"`
	Role         string `json:"role"`
	Cost         int64  `json:"cost_micro_usd"`
}

// TaskLines is a page of the list of all tasks. Cursor asks for the next; the last has none.
type TaskLines struct {
	Items  []TaskLine `json:"items"`
	Cursor string     `json:"cursor,omitempty"`
}

// TaskOptions ask for some of all tasks. Empty fields ask for all; Cursor is from the page before.
type TaskOptions struct {
	Status, Role, By, Conversation string
	// MinCost is in millionths of a US dollar.
	MinCost int64
	Limit   int
	Cursor  string
}

// Role is what an agent can be.
type Role struct {
	Name          string            `json:"name"`
	Title         string            `json:"title,omitempty"`
	Description   string            `json:"description"`
	Icon          string            `json:"icon,omitempty"`
	Mode          string            `json:"mode,omitempty"`
	Model         string            `json:"model,omitempty"`
	Resolved      string            `json:"resolved_model,omitempty"`
	Tools         []string          `json:"tools"`
	Asks          []ToolRule        `json:"tool_rules"`
	Delegates     []string          `json:"delegates"`
	DelegatedBy   []string          `json:"delegated_by"`
	MaxIterations int               `json:"max_iterations,omitempty"`
	MaxDuration   int64             `json:"max_duration_ms,omitempty"`
	MaxTokens     int64             `json:"max_tokens,omitempty"`
	MaxCost       int64             `json:"max_cost_micro_usd,omitempty"`
	MaxDepth      int               `json:"max_depth,omitempty"`
	MaxAgents     int64             `json:"max_agents,omitempty"`
	Prompt        string            `json:"prompt"`
	Source        string            `json:"source"`
	Layer         string            `json:"layer,omitempty"`
	Hash          string            `json:"hash,omitempty"`
	Origins       map[string]string `json:"origins,omitempty"`
	Figures       *RoleFigures      `json:"figures,omitempty"`
}

// ToolRule says whether a person is asked before a tool is used: never, sometimes, always or denied.
type ToolRule struct {
	Tool string `json:"tool"`
	Asks string `json:"asks"`
}

// RoleFigures is how the tasks of a role did in the last 30 days. Succeeded is a share of 1.
type RoleFigures struct {
	Runs      int64   `json:"runs"`
	Succeeded float64 `json:"succeeded"`
	Duration  int64   `json:"median_duration_ms"`
	Cost      int64   `json:"mean_cost_micro_usd"`
	Questions float64 `json:"questions_per_run"`
}

// Settings is how an installation is set up, without secrets. Mode is local, hosted or demo.
type Settings struct {
	Mode      string     `json:"mode"`
	Version   string     `json:"version"`
	Providers []Provider `json:"providers"`
	Tiers     []Tier     `json:"tiers"`
	Items     []Setting  `json:"items"`
}

// Provider is a server of models. Layer is where it was configured.
type Provider struct {
	Name    string `json:"name"`
	Wire    string `json:"wire"`
	Address string `json:"address,omitempty"`
	HasKey  bool   `json:"has_key"`
	Layer   string `json:"layer"`
}

// Tier is the model that a tier stands for.
type Tier struct {
	Tier  string `json:"tier"`
	Model string `json:"model,omitempty"`
	Layer string `json:"layer"`
}

// Setting is one setting in force, with where it came from.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Layer string `json:"layer"`
}

// FileList is some paths of a workspace, or the reason why there are none.
type FileList struct {
	Items  []string `json:"items"`
	More   bool     `json:"more,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// WorkspaceInfo is a folder that agents can work in. ServedAt is when a worker that has it was started last, on a hosted
// server.
type WorkspaceInfo struct {
	Name     string     `json:"name"`
	ServedAt *time.Time `json:"served_at,omitempty"`
}

// Workspaces are those that conversations of the tenant may name.
func (c *Client) Workspaces(ctx context.Context) ([]WorkspaceInfo, error) {
	return items[WorkspaceInfo](ctx, c, nil, "workspaces")
}

// Settings says how the installation is set up.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	return read[Settings](ctx, c, nil, "settings")
}

// Files are paths of a workspace that hold a text.
func (c *Client) Files(ctx context.Context, workspace, part string) (FileList, error) {
	q := url.Values{}
	text(q, "workspace", workspace)
	text(q, "q", part)
	return read[FileList](ctx, c, q, "files")
}

// ModelCall is one model call, of an agent's first task unless another is named.
func (c *Client) ModelCall(ctx context.Context, conversation, agent, task, call string) (ModelCallView, error) {
	q := url.Values{}
	text(q, "task", task)
	return read[ModelCallView](ctx, c, q, "conversations", conversation, "agents", inAddress(agent), "model-calls", call)
}

// AllTasks are what agents were asked to do in all conversations, the newest first.
func (c *Client) AllTasks(ctx context.Context, o TaskOptions) (TaskLines, error) {
	q := url.Values{}
	text(q, "status", o.Status)
	text(q, "role", o.Role)
	text(q, "by", o.By)
	text(q, "conversation", o.Conversation)
	number(q, "min_cost_micro_usd", o.MinCost)
	number(q, "limit", int64(o.Limit))
	text(q, "cursor", o.Cursor)
	return read[TaskLines](ctx, c, q, "tasks")
}

// Role is one role of a workspace.
func (c *Client) Role(ctx context.Context, workspace, name string) (Role, error) {
	q := url.Values{}
	text(q, "workspace", workspace)
	return read[Role](ctx, c, q, "roles", name)
}
