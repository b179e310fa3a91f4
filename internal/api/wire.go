package api

import (
	"encoding/json"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Conversation is one line of the list of conversations.
type Conversation struct {
	ID        string `json:"id"`
	By        string `json:"by" doc:"Who began it."`
	Title     string `json:"title"`
	Workspace string `json:"workspace"`
	Archived  bool   `json:"archived"`
	// Visibility says who may see it.
	Visibility Visibility `json:"visibility" enum:"tenant,private" doc:"Who may see it: everybody in the tenant, or only who began it."`
	OpenedAt   time.Time  `json:"opened_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
	Seq        int64      `json:"seq" doc:"The last event. A stream that begins after it misses nothing."`
	Number     int64      `json:"number" doc:"How many messages people have posted."`
}

func conversationOf(c journal.Conversation) Conversation {
	return Conversation{
		ID: c.ID, By: c.By, Title: c.Title, Workspace: c.Workspace, Archived: c.Archived, OpenedAt: c.OpenedAt.UTC(),
		UpdatedAt: c.UpdatedAt.UTC(), Seq: c.Seq, Number: c.Number, Visibility: visibilityOf(c.PrivateTo),
	}
}

// Usage is what model calls used.
type Usage struct {
	Input      int64 `json:"input" doc:"Tokens sent, those from a cache included."`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
	Cost       int64 `json:"cost_micro_usd" doc:"Millionths of a US dollar."`
	Unpriced   int64 `json:"unpriced_calls" doc:"Calls whose price is not known, which the cost leaves out."`
}

func usageOf(u chat.Usage) Usage {
	return Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
		Cost: u.Cost, Unpriced: u.Unpriced,
	}
}

// Part is a piece of a message.
type Part struct {
	Kind   string `json:"kind" enum:"text,thinking,tool_use,tool_result,image"`
	Text   string `json:"text,omitempty"`
	Call   string `json:"call,omitempty" doc:"Ties a tool_use to its tool_result."`
	Tool   string `json:"tool,omitempty"`
	Args   string `json:"args,omitempty" doc:"The arguments of a tool_use, as JSON text."`
	Image  string `json:"image,omitempty" doc:"The hash under which the image is kept."`
	Failed bool   `json:"failed,omitempty"`
}

func partsOf(parts []chat.Part) []Part {
	out := make([]Part, 0, len(parts))
	for _, p := range parts {
		out = append(out, Part{
			Kind: string(p.Kind), Text: p.Text, Call: p.Call, Tool: p.Tool, Args: p.Args, Image: p.Image, Failed: p.Failed,
		})
	}
	return out
}

// Message is one message of a chat or of an agent's transcript.
type Message struct {
	ID      string    `json:"id"`
	Seq     int64     `json:"seq"`
	Number  int64     `json:"number,omitempty" doc:"Counts what people posted."`
	At      time.Time `json:"at"`
	Agent   string    `json:"agent" doc:"Whose transcript it is in."`
	Speaker string    `json:"speaker" enum:"user,assistant,system,tool"`
	By      string    `json:"by,omitempty" doc:"Who posted it."`
	Turn    int       `json:"turn,omitempty"`
	Parts   []Part    `json:"parts"`
	Reads   []int64   `json:"reads,omitempty" doc:"The numbers of the posted messages that the agent reads with this one."`
	State   string    `json:"state,omitempty" enum:"received,delivered,read" doc:"How far a posted message has come: recorded, known to the orchestrator, part of what its model is sent. Listings have it; in events message.delivered and reads of message.completed say it."`
}

func messageOf(m journal.Message) Message {
	return Message{
		ID: m.ID, Seq: m.Seq, Number: m.Number, At: m.At.UTC(), Agent: m.Agent, Speaker: string(m.Speaker), By: m.By,
		Turn: m.Turn, Parts: partsOf(m.Parts), Reads: m.Reads,
	}
}

// Agent is one worker of a conversation.
type Agent struct {
	ID       string `json:"id" doc:"The path from the orchestrator down. In an address every / is written ~."`
	Parent   string `json:"parent,omitempty"`
	Depth    int    `json:"depth"`
	Role     string `json:"role"`
	RoleHash string `json:"role_hash,omitempty" doc:"The kept text of the role as it was when the agent began."`
	Task     string `json:"task" doc:"Its latest task."`
	Own      Usage  `json:"own" doc:"What its own model calls used."`
	Subtree  Usage  `json:"subtree" doc:"The same with all agents below it."`
}

func agentOf(a journal.Agent) Agent {
	return Agent{
		ID: a.ID, Parent: a.Parent, Depth: a.Depth, Role: a.Role, RoleHash: a.RoleHash, Task: a.Task,
		Own: usageOf(a.Own), Subtree: usageOf(a.Subtree),
	}
}

// moment leaves out a time that has not come.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// until is a time in milliseconds since 1970, zero if there is none.
func until(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	return moment(time.UnixMilli(ms))
}

// ToolCall is one use of a tool.
type ToolCall struct {
	Call       string     `json:"call"`
	Seq        int64      `json:"seq"`
	Agent      string     `json:"agent"`
	Task       string     `json:"task"`
	Tool       string     `json:"tool"`
	Turn       int        `json:"turn"`
	Status     string     `json:"status" enum:"pending,waiting_approval,running,completed,failed,denied,cancelled,timed_out,skipped,indeterminate"`
	Attempt    int        `json:"attempt,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Duration   int64      `json:"duration_ms,omitempty"`
}

func toolCallOf(c journal.ToolCall) ToolCall {
	return ToolCall{
		Call: c.Call, Seq: c.Seq, Agent: c.Agent, Task: c.Task, Tool: c.Tool, Turn: c.Turn, Status: string(c.Status),
		Attempt: c.Attempt, StartedAt: moment(c.StartedAt), FinishedAt: moment(c.FinishedAt), Duration: c.Duration,
	}
}

// Approval is a call that a person must allow.
type Approval struct {
	ID      string          `json:"id" doc:"Names it in its conversation."`
	Seq     int64           `json:"seq"`
	Agent   string          `json:"agent"`
	Task    string          `json:"task"`
	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Hash    string          `json:"hash" doc:"What exactly is to be approved. A decision names it."`
	Status  string          `json:"status" enum:"open,decided,approved,denied,expired,cancelled"`
	Pattern string          `json:"pattern,omitempty" doc:"What an approval may cover beside this one call."`
	Show    json.RawMessage `json:"show,omitempty" doc:"What the person is shown."`
	Sources []Source        `json:"sources,omitempty" doc:"What the agent has read that strangers may have written. If there is any, the person is asked whatever the rules say, and decides about this call only."`
	By      string          `json:"by,omitempty"`
	Allow   bool            `json:"allow,omitempty"`
	Scope   string          `json:"scope,omitempty"`
	Edited  bool            `json:"edited,omitempty" doc:"It was allowed with other arguments than the agent's."`
	Args    json.RawMessage `json:"args,omitempty" doc:"Those arguments. Lists leave them out."`
	At      time.Time       `json:"at"`
	Until   *time.Time      `json:"until,omitempty"`
}

// Source is a place that strangers write to.
type Source struct {
	Kind string `json:"kind" enum:"web,mcp,file,agent,more" doc:"More stands for those that are not listed."`
	Name string `json:"name,omitempty" doc:"A host, a server, a path or an agent."`
}

func sourcesOf(list []journal.Source) []Source {
	if len(list) == 0 {
		return nil
	}
	return each(list, func(s journal.Source) Source { return Source(s) })
}

// Question is what an agent wants to know.
type Question struct {
	ID      string     `json:"id" doc:"Names it in its conversation. A message that answers it has it as in_reply_to."`
	Seq     int64      `json:"seq"`
	Agent   string     `json:"agent"`
	Task    string     `json:"task"`
	Status  string     `json:"status" enum:"open,relayed,closed"`
	Text    string     `json:"text,omitempty"`
	Options []string   `json:"options,omitempty"`
	By      string     `json:"by,omitempty"`
	At      time.Time  `json:"at"`
	Until   *time.Time `json:"until,omitempty"`
}
