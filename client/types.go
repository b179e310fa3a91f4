package client

import (
	"encoding/json"
	"time"
)

// Me is who asks.
type Me struct {
	Tenant string   `json:"tenant"`
	User   string   `json:"user"`
	Name   string   `json:"name"`
	Role   string   `json:"role"`
	Scopes []string `json:"scopes"`
}

// Conversation is one line of the list of conversations. Seq is its last event.
type Conversation struct {
	ID        string `json:"id"`
	By        string `json:"by"`
	Title     string `json:"title"`
	Workspace string `json:"workspace"`
	Archived  bool   `json:"archived"`
	// Visibility is tenant or private.
	Visibility string    `json:"visibility"`
	OpenedAt   time.Time `json:"opened_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	Seq        int64     `json:"seq"`
	Number     int64     `json:"number"`
}

// ListedConversation is a conversation in a list. Running counts its tasks that are under way and wait
// for nobody; Last is how the orchestrator's last turn ended.
type ListedConversation struct {
	Conversation
	Running int    `json:"running"`
	Last    string `json:"last,omitempty"`
}

// Conversations is a page of the list of conversations. Cursor asks for the next; the last has
// none.
type Conversations struct {
	Items  []ListedConversation `json:"items"`
	Cursor string               `json:"cursor,omitempty"`
}

// Page is a part of a list. Before asks for what came before it; it is zero when nothing did.
type Page[T any] struct {
	Items  []T   `json:"items"`
	Before int64 `json:"before,omitempty"`
}

// Usage is what model calls used, in tokens and in millionths of a US dollar.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
	Cost       int64 `json:"cost_micro_usd"`
	Unpriced   int64 `json:"unpriced_calls"`
}

// UsageLine is what one group used. Subtree is there for agents.
type UsageLine struct {
	Name    string `json:"name"`
	Calls   int64  `json:"calls"`
	Own     Usage  `json:"own"`
	Subtree *Usage `json:"subtree,omitempty"`
}

// UsageSums is usage in groups and in all.
type UsageSums struct {
	Items []UsageLine `json:"items"`
	Total Usage       `json:"total"`
}

// Quotas is how much the tenant may use, and how much of it is used.
type Quotas struct {
	Month   MonthQuota   `json:"month"`
	Storage StorageQuota `json:"storage"`
	AtOnce  AtOnceQuota  `json:"at_once"`
}

// StorageQuota is how many bytes a tenant's conversations may hold, and hold. No most means any number.
type StorageQuota struct {
	Most int64 `json:"most_bytes,omitempty"`
	Used int64 `json:"used_bytes"`
}

// AtOnceQuota is how much a tenant may do at the same time: agents on one worker, the others at one server. Zero means
// any number.
type AtOnceQuota struct {
	Agents   int `json:"agents,omitempty"`
	Searches int `json:"searches,omitempty"`
	Imports  int `json:"imports,omitempty"`
	Streams  int `json:"streams,omitempty"`
}

// MonthQuota is what a tenant may spend on models in a calendar month, and has. No budget means any amount.
type MonthQuota struct {
	Name   string    `json:"name"`
	Ends   time.Time `json:"ends"`
	Budget int64     `json:"budget_micro_usd,omitempty"`
	Spent  int64     `json:"spent_micro_usd"`
}

// Part is a piece of a message: text, thinking, tool_use, tool_result or image.
type Part struct {
	Kind   string `json:"kind"`
	Text   string `json:"text,omitempty"`
	Call   string `json:"call,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Args   string `json:"args,omitempty"`
	Image  string `json:"image,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// Message is one message of a chat or of an agent's transcript. State says how far one that a
// person posted has come: received, delivered or read. Reads are the numbers of those that an
// agent reads with it.
type Message struct {
	ID      string    `json:"id"`
	Seq     int64     `json:"seq"`
	Number  int64     `json:"number,omitempty"`
	At      time.Time `json:"at"`
	Agent   string    `json:"agent"`
	Speaker string    `json:"speaker"`
	By      string    `json:"by,omitempty"`
	Turn    int       `json:"turn,omitempty"`
	Parts   []Part    `json:"parts"`
	State   string    `json:"state,omitempty"`
	Reads   []int64   `json:"reads,omitempty"`
}

// Text is what the message says, without thinking and calls.
func (m Message) Text() string {
	text := ""
	for _, p := range m.Parts {
		if p.Kind == "text" {
			text += p.Text
		}
	}
	return text
}

// Agent is one worker of a conversation.
type Agent struct {
	ID       string `json:"id"`
	Parent   string `json:"parent,omitempty"`
	Depth    int    `json:"depth"`
	Role     string `json:"role"`
	RoleHash string `json:"role_hash,omitempty"`
	Task     string `json:"task"`
	Own      Usage  `json:"own"`
	Subtree  Usage  `json:"subtree"`
}

// Task is one thing that an agent was asked to do. In lists Title, Summary and Message are cut, and
// of Changed there are some; ChangedCount says how many there are. Verdict says what is known of its
// claims: none, verified, unverified or contradicted.
type Task struct {
	ID         string     `json:"id"`
	Agent      string     `json:"agent"`
	Parent     string     `json:"parent,omitempty"`
	Call       string     `json:"parent_call,omitempty"`
	Item       int        `json:"item,omitempty"`
	Trigger    int64      `json:"trigger,omitempty"`
	Background bool       `json:"background,omitempty"`
	Seq        int64      `json:"seq"`
	Status     string     `json:"status"`
	Reason     string     `json:"waiting_reason,omitempty"`
	Kind       string     `json:"error_kind,omitempty"`
	AssignedAt time.Time  `json:"assigned_at"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`

	Title         string   `json:"title,omitempty"`
	Summary       string   `json:"summary,omitempty"`
	Message       string   `json:"message,omitempty"`
	Changed       []string `json:"changed_files,omitempty"`
	ChangedCount  int      `json:"changed_count,omitempty"`
	Verdict       string   `json:"verdict,omitempty"`
	Iterations    int      `json:"iterations,omitempty"`
	MaxIterations int      `json:"max_iterations,omitempty"`
	MaxDuration   int64    `json:"max_duration_ms,omitempty"`
}

// TaskView is a task with what was asked and what came of it.
type TaskView struct {
	Task
	Instruction string          `json:"instruction,omitempty"`
	Criteria    string          `json:"success_criteria,omitempty"`
	Files       []string        `json:"files,omitempty"`
	ContextMode string          `json:"context_mode,omitempty"`
	Brief       json.RawMessage `json:"brief,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
	Receipt     json.RawMessage `json:"receipt,omitempty"`
}

// ToolCall is one use of a tool.
type ToolCall struct {
	Call       string     `json:"call"`
	Seq        int64      `json:"seq"`
	Agent      string     `json:"agent"`
	Task       string     `json:"task"`
	Tool       string     `json:"tool"`
	Turn       int        `json:"turn"`
	Status     string     `json:"status"`
	Attempt    int        `json:"attempt,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Duration   int64      `json:"duration_ms,omitempty"`
}

// ToolCallView is a tool call with what went in and what came out.
type ToolCallView struct {
	Call     string          `json:"call"`
	Agent    string          `json:"agent"`
	Tool     string          `json:"tool"`
	Args     string          `json:"args"`
	Status   string          `json:"status,omitempty"`
	Text     string          `json:"text,omitempty"`
	Whole    string          `json:"whole,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Facts    json.RawMessage `json:"facts,omitempty"`
	Duration int64           `json:"duration_ms,omitempty"`
}

// ModelCall is one attempt at a model request.
type ModelCall struct {
	Call       string     `json:"call"`
	Seq        int64      `json:"seq"`
	Agent      string     `json:"agent"`
	Task       string     `json:"task"`
	Type       string     `json:"type"`
	Turn       int        `json:"turn,omitempty"`
	Attempt    int        `json:"attempt,omitempty"`
	Model      string     `json:"model,omitempty"`
	Prompt     string     `json:"prompt,omitempty"`
	Status     string     `json:"status"`
	Kind       string     `json:"error_kind,omitempty"`
	Usage      Usage      `json:"usage"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// Approval is a call that a person must allow. Hash names what exactly is to be approved.
type Approval struct {
	ID      string          `json:"id"`
	Seq     int64           `json:"seq"`
	Agent   string          `json:"agent"`
	Task    string          `json:"task"`
	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Hash    string          `json:"hash"`
	Status  string          `json:"status"`
	Pattern string          `json:"pattern,omitempty"`
	Show    json.RawMessage `json:"show,omitempty"`
	// Sources is what the agent has read that strangers may have written. If there is any, the person is asked
	// whatever the rules say, and decides about this call only.
	Sources []Source `json:"sources,omitempty"`
	By      string   `json:"by,omitempty"`
	Allow   bool     `json:"allow,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	// Edited means that it was allowed with other arguments than the agent's, and Args are those; lists
	// leave them out.
	Edited bool            `json:"edited,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	At     time.Time       `json:"at"`
	Until  *time.Time      `json:"until,omitempty"`
}

// Source is a place that strangers write to: web, mcp, file or agent; more stands for those that are not listed.
type Source struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

// Question is what an agent wants to know.
type Question struct {
	ID      string     `json:"id"`
	Seq     int64      `json:"seq"`
	Agent   string     `json:"agent"`
	Task    string     `json:"task"`
	Status  string     `json:"status"`
	Text    string     `json:"text,omitempty"`
	Options []string   `json:"options,omitempty"`
	By      string     `json:"by,omitempty"`
	At      time.Time  `json:"at"`
	Until   *time.Time `json:"until,omitempty"`
}

// Snapshot is the state of a conversation after event Conversation.Seq.
type Snapshot struct {
	Conversation Conversation `json:"conversation"`
	Agents       []Agent      `json:"agents"`
	Tasks        []Task       `json:"tasks"`
	Questions    []Question   `json:"questions"`
	Approvals    []Approval   `json:"approvals"`
	Messages     []Message    `json:"messages"`
	Notes        []Note       `json:"notes"`
	Turns        []EndedTurn  `json:"turns"`
	Used         Usage        `json:"used"`
	HeldTokens   int64        `json:"held_tokens"`
	HeldCost     int64        `json:"held_micro_usd"`
	MaxCost      int64        `json:"max_cost_micro_usd,omitempty"`
}

// Note is a line for people, with where it is in the chat.
type Note struct {
	Seq   int64     `json:"seq"`
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Task  string    `json:"task"`
	Noted
}

// EndedTurn is the end of a turn of the orchestrator, with where it is in the chat.
type EndedTurn struct {
	Seq   int64     `json:"seq"`
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Task  string    `json:"task"`
	TurnEnd
}

// Waiting is an approval or a question that waits for a person.
type Waiting struct {
	Conversation string    `json:"conversation"`
	At           time.Time `json:"at"`
	Approval     *Approval `json:"approval,omitempty"`
	Question     *Question `json:"question,omitempty"`
	Role         string    `json:"role"`
}

// Hit is a message that a search found.
type Hit struct {
	Conversation string    `json:"conversation"`
	Seq          int64     `json:"seq"`
	At           time.Time `json:"at"`
	Agent        string    `json:"agent"`
	Speaker      string    `json:"speaker"`
	Text         string    `json:"text"`
}

// Accepted says that a command is recorded and will be carried out.
type Accepted struct {
	ID string `json:"id"`
}
