// Package tables reads lines of the tables that both databases keep: it turns columns into Go
// values, and those into values of the port.
//
// The generated queries of the two have structs with the same fields, so that a store converts its
// own to those here and the rest is written once. Times are in milliseconds since 1970. The package
// imports the port and chat.
package tables

import (
	"math"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// The lines of the tables.
type (
	// Conversation is a line of the table of conversations.
	Conversation struct {
		TenantID, ConversationID   string
		OpenedBy, Title, Workspace string
		Archived                   bool
		OpenedAt, UpdatedAt        int64
		LastSeq, LastNumber, Bytes int64
		PrivateTo                  string
	}

	// Agent is a line of the table of agents.
	Agent struct {
		TenantID, ConversationID, AgentID                               string
		Seq                                                             int64
		ParentID                                                        *string
		Depth                                                           int64
		Role, RoleHash, LatestTask                                      string
		Input, Output, CacheRead, CacheWrite, Reasoning, Cost, Unpriced int64
	}

	// Task is a line of the table of tasks.
	Task struct {
		TenantID, ConversationID, TaskID, AgentID string
		Seq                                       int64
		ParentID, CallID                          string
		Item, TriggerNumber                       int64
		Background                                bool
		Status, Reason, ErrorKind                 string
		AssignedAt                                int64
		StartedAt, FinishedAt                     *int64
	}

	// ModelCall is a line of the table of model calls.
	ModelCall struct {
		TenantID, ConversationID, TaskID, CallID, AgentID               string
		Seq                                                             int64
		RequestType                                                     string
		Turn, Attempt                                                   int64
		Model, PromptHash, Status, ErrorKind                            string
		Input, Output, CacheRead, CacheWrite, Reasoning, Cost, Unpriced int64
		StartedAt                                                       int64
		FinishedAt, FinishedSeq                                         *int64
	}

	// ToolCall is a line of the table of tool calls.
	ToolCall struct {
		TenantID, ConversationID, AgentID string
		Turn, Item                        int64
		CallID, TaskID                    string
		Seq                               int64
		Tool                              string
		Voided, Started, Wanted, Closed   bool
		Result                            string
		Attempt                           int64
		StartedAt, FinishedAt             *int64
		Duration                          int64
	}

	// Question is a line of the table of questions.
	Question struct {
		TenantID, ConversationID, QuestionID string
		Seq                                  int64
		AgentID, TaskID, CallID              string
		Relayed, Closed                      bool
		AnsweredBy                           string
		At, Until                            int64
	}

	// Approval is a line of the table of approvals.
	Approval struct {
		TenantID, ConversationID, AgentID, CallID string
		Seq                                       int64
		TaskID, Tool, Hash, Status                string
		Allow                                     bool
		Scope, DecidedBy                          string
		Edited                                    bool
		At, Until                                 int64
	}

	// Grant is a line of the table of grants.
	Grant struct {
		TenantID, ConversationID string
		Seq                      int64
		Tool, Pattern            string
	}

	// Lease is a line of the table of leases.
	Lease struct {
		TenantID, ConversationID, Key string
		Seq                           int64
		AgentID, TaskID, Holder       string
		Tokens, Cost                  int64
		Settled                       bool
	}
)

// Conversation is the line as the port has it.
func (c Conversation) Conversation() journal.Conversation {
	return journal.Conversation{
		ID: c.ConversationID, By: c.OpenedBy, Title: c.Title, Workspace: c.Workspace,
		Archived: c.Archived, OpenedAt: moment(c.OpenedAt), UpdatedAt: moment(c.UpdatedAt),
		Seq: c.LastSeq, Number: c.LastNumber, PrivateTo: c.PrivateTo,
	}
}

// Agent is the line as the port has it.
func (a Agent) Agent() journal.Agent {
	parent := ""
	if a.ParentID != nil {
		parent = *a.ParentID
	}
	return journal.Agent{
		ID: a.AgentID, Parent: parent, Depth: int(a.Depth), Role: a.Role, RoleHash: a.RoleHash, Task: a.LatestTask,
		Own: chat.Usage{
			Input: a.Input, Output: a.Output, CacheRead: a.CacheRead, CacheWrite: a.CacheWrite,
			Reasoning: a.Reasoning, Cost: a.Cost, Unpriced: a.Unpriced,
		},
	}
}

// Task is the line as the port has it.
func (t Task) Task() journal.Task {
	return journal.Task{
		ID: t.TaskID, Agent: t.AgentID, Parent: t.ParentID, Call: t.CallID, Item: int(t.Item),
		Trigger: t.TriggerNumber, Background: t.Background, Seq: t.Seq,
		Status: chat.Status(t.Status), Reason: chat.WaitReason(t.Reason), Kind: chat.ErrorKind(t.ErrorKind),
		AssignedAt: moment(t.AssignedAt), StartedAt: momentIf(t.StartedAt), FinishedAt: momentIf(t.FinishedAt),
	}
}

// ModelCall is the line as the port has it.
func (c ModelCall) ModelCall() journal.ModelCall {
	return journal.ModelCall{
		Seq: c.Seq, Agent: c.AgentID, Task: c.TaskID, Call: c.CallID,
		Type: journal.RequestType(c.RequestType), Turn: int(c.Turn), Attempt: int(c.Attempt),
		Model: c.Model, Prompt: c.PromptHash, Status: chat.Status(c.Status), Kind: chat.ErrorKind(c.ErrorKind),
		Usage: chat.Usage{
			Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite,
			Reasoning: c.Reasoning, Cost: c.Cost, Unpriced: c.Unpriced,
		},
		StartedAt: moment(c.StartedAt), FinishedAt: momentIf(c.FinishedAt),
	}
}

// ToolCall is the line as the port has it.
func (c ToolCall) ToolCall() journal.ToolCall {
	return journal.ToolCall{
		Seq: c.Seq, Agent: c.AgentID, Task: c.TaskID, Call: c.CallID, Tool: c.Tool, Turn: int(c.Turn),
		Status:  journal.CallState(journal.CallStatus(c.Result), c.Started, c.Wanted && !c.Closed, c.Voided),
		Attempt: int(c.Attempt), StartedAt: momentIf(c.StartedAt), FinishedAt: momentIf(c.FinishedAt),
		Duration: c.Duration,
	}
}

// Question is the line as the port has it.
func (q Question) Question() journal.Question {
	status := journal.QuestionStatusOpen
	switch {
	case q.Closed:
		status = journal.QuestionStatusClosed
	case q.Relayed:
		status = journal.QuestionStatusRelayed
	}
	return journal.Question{
		Seq: q.Seq, ID: q.QuestionID, Agent: q.AgentID, Task: q.TaskID, Call: q.CallID,
		Status: status, By: q.AnsweredBy, At: moment(q.At), Until: q.Until,
	}
}

// Approval is the line as the port has it.
func (a Approval) Approval() journal.Approval {
	return journal.Approval{
		Seq: a.Seq, Agent: a.AgentID, Task: a.TaskID, Call: a.CallID, Tool: a.Tool, Hash: a.Hash,
		Status: journal.ApprovalStatus(a.Status), Allow: a.Allow, Scope: a.Scope, By: a.DecidedBy, Edited: a.Edited,
		At: moment(a.At), Until: a.Until,
	}
}

// Grant is the line as the port has it.
func (g Grant) Grant() journal.Grant {
	return journal.Grant{Seq: g.Seq, Tool: g.Tool, Pattern: g.Pattern}
}

// Lease is the line as the port has it.
func (l Lease) Lease() journal.Lease {
	return journal.Lease{
		Seq: l.Seq, Key: l.Key, Agent: l.AgentID, Task: l.TaskID, Holder: l.Holder, Tokens: l.Tokens, Cost: l.Cost,
	}
}

// moment is a time as it is stored.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// momentIf is a time that may not have come yet.
func momentIf(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return moment(*ms)
}

// All converts rows one by one.
func All[From, To any](rows []From, convert func(From) To) []To {
	var out []To
	for _, row := range rows {
		out = append(out, convert(row))
	}
	return out
}

// Each converts the rows of a query one by one.
func Each[From, To any](convert func(From) To) func([]From) ([]To, error) {
	return func(rows []From) ([]To, error) { return All(rows, convert), nil }
}

// Backward converts the rows of a query that begins with the last.
func Backward[From, To any](convert func(From) To) func([]From) ([]To, error) {
	return func(rows []From) ([]To, error) {
		slices.Reverse(rows)
		return All(rows, convert), nil
	}
}

// Size is the number of things that a page of a limit holds.
func Size(limit int) int64 { return int64(journal.Page{Limit: limit}.Size()) }

// Before is the sequence number under which a page lies.
func Before(page journal.Page) int64 {
	if page.Before > 0 {
		return page.Before
	}
	return math.MaxInt64
}

// Until is the first stored time that is not before a time.
func Until(at time.Time) int64 { return at.Add(time.Millisecond - 1).UnixMilli() }
