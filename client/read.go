package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/retinue-dev/retinue/wire"
)

// read asks for something.
func read[T any](ctx context.Context, c *Client, query url.Values, parts ...string) (out T, err error) {
	err = c.call(ctx, request{method: http.MethodGet, path: at(parts...), query: query}, &out)
	return out, err
}

// items asks for a list that comes in one piece.
func items[T any](ctx context.Context, c *Client, query url.Values, parts ...string) ([]T, error) {
	out, err := read[struct {
		Items []T `json:"items"`
	}](ctx, c, query, parts...)
	return out.Items, err
}

// PageOptions ask for a part of a list: at most Limit things, before a seq. The zero value asks for
// the last hundred.
type PageOptions struct {
	Limit  int
	Before int64
}

func (o PageOptions) query() url.Values {
	q := url.Values{}
	number(q, "limit", int64(o.Limit))
	number(q, "before", o.Before)
	return q
}

func number(q url.Values, name string, n int64) {
	if n != 0 {
		q.Set(name, strconv.FormatInt(n, 10))
	}
}

func text(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func moment(q url.Values, name string, t time.Time) {
	if !t.IsZero() {
		q.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

// Me says who the key belongs to.
func (c *Client) Me(ctx context.Context) (wire.Me, error) { return read[wire.Me](ctx, c, nil, "me") }

// ListOptions ask for a page of the list of conversations. Cursor is from the page before.
type ListOptions struct {
	Limit    int
	Cursor   string
	Archived bool
}

// Conversations lists the conversations, the one last written to first.
func (c *Client) Conversations(ctx context.Context, o ListOptions) (wire.Conversations, error) {
	q := url.Values{}
	number(q, "limit", int64(o.Limit))
	text(q, "cursor", o.Cursor)
	if o.Archived {
		q.Set("archived", "true")
	}
	return read[wire.Conversations](ctx, c, q, "conversations")
}

// Conversation is the state of a conversation, with all that waits for a person.
func (c *Client) Conversation(ctx context.Context, conversation string) (wire.Snapshot, error) {
	return read[wire.Snapshot](ctx, c, nil, "conversations", conversation)
}

// Messages are what people and the orchestrator said to each other.
func (c *Client) Messages(ctx context.Context, conversation string, o PageOptions) (wire.Page[wire.Message], error) {
	return read[wire.Page[wire.Message]](ctx, c, o.query(), "conversations", conversation, "messages")
}

// Agents are all who work in a conversation.
func (c *Client) Agents(ctx context.Context, conversation string) ([]wire.Agent, error) {
	return items[wire.Agent](ctx, c, nil, "conversations", conversation, "agents")
}

// Agent is one agent with its tasks.
func (c *Client) Agent(ctx context.Context, conversation, agent string) (wire.AgentView, error) {
	return read[wire.AgentView](ctx, c, nil, "conversations", conversation, "agents", inAddress(agent))
}

// Children are the agents that one asked for help.
func (c *Client) Children(ctx context.Context, conversation, agent string) ([]wire.Agent, error) {
	return items[wire.Agent](ctx, c, nil, "conversations", conversation, "agents", inAddress(agent), "children")
}

// AgentMessages is an agent's transcript.
func (c *Client) AgentMessages(ctx context.Context, conversation, agent string, o PageOptions) (wire.Page[wire.Message], error) {
	return read[wire.Page[wire.Message]](ctx, c, o.query(), "conversations", conversation, "agents", inAddress(agent), "messages")
}

// ToolCalls are the tool calls of an agent.
func (c *Client) ToolCalls(ctx context.Context, conversation, agent string, o PageOptions) (wire.Page[wire.ToolCall], error) {
	return read[wire.Page[wire.ToolCall]](ctx, c, o.query(), "conversations", conversation, "agents", inAddress(agent), "tool-calls")
}

// ToolCall is one tool call, whole.
func (c *Client) ToolCall(ctx context.Context, conversation, agent, call string) (wire.ToolCallView, error) {
	return read[wire.ToolCallView](ctx, c, nil, "conversations", conversation, "agents", inAddress(agent), "tool-calls", call)
}

// ModelCalls are the model calls of an agent.
func (c *Client) ModelCalls(ctx context.Context, conversation, agent string, o PageOptions) (wire.Page[wire.ModelCall], error) {
	return read[wire.Page[wire.ModelCall]](ctx, c, o.query(), "conversations", conversation, "agents", inAddress(agent), "model-calls")
}

// Tasks are all that agents were asked to do.
func (c *Client) Tasks(ctx context.Context, conversation string) ([]wire.Task, error) {
	return items[wire.Task](ctx, c, nil, "conversations", conversation, "tasks")
}

// Task is one task with its outcome.
func (c *Client) Task(ctx context.Context, conversation, task string) (wire.TaskView, error) {
	return read[wire.TaskView](ctx, c, nil, "conversations", conversation, "tasks", inAddress(task))
}

// Approvals are what wanted or wants a person's approval.
func (c *Client) Approvals(ctx context.Context, conversation string) ([]wire.Approval, error) {
	return items[wire.Approval](ctx, c, nil, "conversations", conversation, "approvals")
}

// Approval is one approval with the call as the person sees it.
func (c *Client) Approval(ctx context.Context, conversation, approval string) (wire.Approval, error) {
	return read[wire.Approval](ctx, c, nil, "conversations", conversation, "approvals", approval)
}

// Questions are what agents wanted or want to know.
func (c *Client) Questions(ctx context.Context, conversation string) ([]wire.Question, error) {
	return items[wire.Question](ctx, c, nil, "conversations", conversation, "questions")
}

// History is a page of what was recorded in a conversation after an entry, the oldest first. The
// seq of a page is where the next one begins; limit zero means 500 entries.
func (c *Client) History(ctx context.Context, conversation string, after int64, limit int) (wire.History, error) {
	q := url.Values{}
	number(q, "after", after)
	number(q, "limit", int64(limit))
	return read[wire.History](ctx, c, q, "conversations", conversation, "history")
}

// Inbox is all that waits for a person, the oldest first; limit zero means a hundred.
func (c *Client) Inbox(ctx context.Context, limit int) ([]wire.Waiting, error) {
	q := url.Values{}
	number(q, "limit", int64(limit))
	return items[wire.Waiting](ctx, c, q, "inbox")
}

// SearchOptions select messages with all of the words, in one conversation or in all.
type SearchOptions struct {
	Words        string
	Conversation string
	SubAgents    bool
	Limit        int
}

// Search finds messages, the newest first.
func (c *Client) Search(ctx context.Context, o SearchOptions) ([]wire.Hit, error) {
	q := url.Values{}
	text(q, "q", o.Words)
	text(q, "conversation", o.Conversation)
	if o.SubAgents {
		q.Set("sub_agents", "true")
	}
	number(q, "limit", int64(o.Limit))
	return items[wire.Hit](ctx, c, q, "search")
}

// Text is a kept text: a prompt, a whole output, a patch.
func (c *Client) Text(ctx context.Context, conversation, hash string) (string, error) {
	out, err := read[struct {
		Text string `json:"text"`
	}](ctx, c, nil, "conversations", conversation, "texts", hash)
	return out.Text, err
}

// Roles are what agents can be in a workspace.
func (c *Client) Roles(ctx context.Context, workspace string) ([]wire.Role, error) {
	q := url.Values{}
	text(q, "workspace", workspace)
	return items[wire.Role](ctx, c, q, "roles")
}

// ConversationUsage is the usage of a conversation, by agent, role, model or turn.
func (c *Client) ConversationUsage(ctx context.Context, conversation, by string) (wire.UsageSums, error) {
	q := url.Values{}
	text(q, "by", by)
	return read[wire.UsageSums](ctx, c, q, "conversations", conversation, "usage")
}

// UsageOptions say what of all conversations is summed: by role, model or conversation, and since
// and until when. Nothing means by model, in the last 30 days.
type UsageOptions struct {
	By           string
	Since, Until time.Time
}

// Usage is the usage of all conversations.
func (c *Client) Usage(ctx context.Context, o UsageOptions) (wire.UsageSums, error) {
	q := url.Values{}
	text(q, "by", o.By)
	moment(q, "since", o.Since)
	moment(q, "until", o.Until)
	return read[wire.UsageSums](ctx, c, q, "usage")
}

// Quotas is how much the tenant may use, and has used.
func (c *Client) Quotas(ctx context.Context) (wire.Quotas, error) {
	return read[wire.Quotas](ctx, c, nil, "quotas")
}

// Export writes a conversation with all its content as JSON Lines. It is not sent again after an
// error: the part written until then is of no use.
func (c *Client) Export(ctx context.Context, conversation string, to io.Writer) error {
	r := request{method: http.MethodGet, path: at("conversations", conversation, "export")}
	resp, err := c.send(ctx, r, nil, "", "application/x-ndjson")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // all of it was read, or it is of no use
	_, err = io.Copy(to, resp.Body)
	return err
}
