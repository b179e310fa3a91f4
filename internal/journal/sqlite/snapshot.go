package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

// Snapshot implements journal.Reader.
func (l *Log) Snapshot(ctx context.Context, ref journal.Ref) (out journal.Snapshot, err error) {
	err = l.read(ctx, "read snapshot", ref, func(q *query.Queries, c query.Conversation) error {
		out.Conversation = conversation(c)
		agents, err := q.AgentsOf(ctx, query.AgentsOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation,
		})
		if err != nil {
			return err
		}
		out.Agents = each(agents, agent)
		journal.AddUp(out.Agents)
		tasks, err := q.TasksOf(ctx, query.TasksOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation,
		})
		if err != nil {
			return err
		}
		out.Tasks = each(tasks, task)
		return asks(ctx, q, ref, &out)
	})
	return out, err
}

// asks reads what people are or were asked, and what is held.
func asks(ctx context.Context, q *query.Queries, ref journal.Ref, out *journal.Snapshot) error {
	questions, err := q.QuestionsOf(ctx, query.QuestionsOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation,
	})
	if err != nil {
		return err
	}
	out.Questions = each(questions, question)
	approvals, err := q.ApprovalsOf(ctx, query.ApprovalsOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation,
	})
	if err != nil {
		return err
	}
	out.Approvals = each(approvals, approval)
	grants, err := q.GrantsOf(ctx, query.GrantsOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation,
	})
	if err != nil {
		return err
	}
	out.Grants = each(grants, func(g query.Grant) journal.Grant {
		return journal.Grant{Seq: g.Seq, Tool: g.Tool, Pattern: g.Pattern}
	})
	leases, err := q.OpenLeasesOf(ctx, query.OpenLeasesOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation,
	})
	out.Leases = each(leases, func(l query.Lease) journal.Lease {
		return journal.Lease{
			Seq: l.Seq, Key: l.Key, Agent: l.AgentID, Task: l.TaskID, Holder: l.Holder,
			Tokens: l.Tokens, Cost: l.Cost,
		}
	})
	return err
}

// ModelCalls implements journal.Reader.
func (l *Log) ModelCalls(
	ctx context.Context, ref journal.Ref, agent string, page journal.Page,
) (out []journal.ModelCall, err error) {
	err = l.read(ctx, "read model calls", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.ModelCallsOf(ctx, query.ModelCallsOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: agent,
			Before: before(page), Count: int64(page.Size()),
		})
		slices.Reverse(rows)
		out = each(rows, modelCall)
		return err
	})
	return out, err
}

// ToolCalls implements journal.Reader.
func (l *Log) ToolCalls(
	ctx context.Context, ref journal.Ref, agent string, page journal.Page,
) (out []journal.ToolCall, err error) {
	err = l.read(ctx, "read tool calls", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.ToolCallsOf(ctx, query.ToolCallsOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: agent,
			Before: before(page), Count: int64(page.Size()),
		})
		slices.Reverse(rows)
		out = each(rows, toolCall)
		return err
	})
	return out, err
}

func each[From, To any](rows []From, convert func(From) To) []To {
	var out []To
	for _, row := range rows {
		out = append(out, convert(row))
	}
	return out
}

// moment is a time as it is stored: milliseconds since 1970.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// momentIf is a time that may not have come yet.
func momentIf(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return moment(*ms)
}

func conversation(c query.Conversation) journal.Conversation {
	return journal.Conversation{
		ID: c.ConversationID, By: c.OpenedBy, Title: c.Title, Workspace: c.Workspace,
		Archived: c.Archived, OpenedAt: moment(c.OpenedAt), UpdatedAt: moment(c.UpdatedAt),
		Seq: c.LastSeq, Number: c.LastNumber, PrivateTo: c.PrivateTo,
	}
}

func agent(a query.Agent) journal.Agent {
	parent := ""
	if a.ParentID != nil {
		parent = *a.ParentID
	}
	return journal.Agent{
		ID: a.AgentID, Parent: parent, Depth: int(a.Depth), Role: a.Role, RoleHash: a.RoleHash,
		Task: a.LatestTask,
		Own: chat.Usage{
			Input: a.Input, Output: a.Output, CacheRead: a.CacheRead, CacheWrite: a.CacheWrite,
			Reasoning: a.Reasoning, Cost: a.Cost, Unpriced: a.Unpriced,
		},
	}
}

func task(t query.Task) journal.Task {
	return journal.Task{
		ID: t.TaskID, Agent: t.AgentID, Parent: t.ParentID, Call: t.CallID, Item: int(t.Item),
		Trigger: t.TriggerNumber, Background: t.Background, Seq: t.Seq,
		Status: chat.Status(t.Status), Reason: chat.WaitReason(t.Reason),
		Kind: chat.ErrorKind(t.ErrorKind), AssignedAt: moment(t.AssignedAt),
		StartedAt: momentIf(t.StartedAt), FinishedAt: momentIf(t.FinishedAt),
	}
}

func modelCall(c query.ModelCall) journal.ModelCall {
	return journal.ModelCall{
		Seq: c.Seq, Agent: c.AgentID, Task: c.TaskID, Call: c.CallID,
		Type: journal.RequestType(c.RequestType), Turn: int(c.Turn), Attempt: int(c.Attempt),
		Model: c.Model, Prompt: c.PromptHash, Status: chat.Status(c.Status),
		Kind: chat.ErrorKind(c.ErrorKind),
		Usage: chat.Usage{
			Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite,
			Reasoning: c.Reasoning, Cost: c.Cost, Unpriced: c.Unpriced,
		},
		StartedAt: moment(c.StartedAt), FinishedAt: momentIf(c.FinishedAt),
	}
}

func toolCall(c query.ToolCall) journal.ToolCall {
	return journal.ToolCall{
		Seq: c.Seq, Agent: c.AgentID, Task: c.TaskID, Call: c.CallID, Tool: c.Tool,
		Turn:    int(c.Turn),
		Status:  journal.CallState(journal.CallStatus(c.Result), c.Started, c.Wanted && !c.Closed, c.Voided),
		Attempt: int(c.Attempt), StartedAt: momentIf(c.StartedAt), FinishedAt: momentIf(c.FinishedAt),
		Duration: c.Duration,
	}
}

func question(r query.Question) journal.Question {
	status := journal.QuestionStatusOpen
	switch {
	case r.Closed:
		status = journal.QuestionStatusClosed
	case r.Relayed:
		status = journal.QuestionStatusRelayed
	}
	return journal.Question{
		Seq: r.Seq, ID: r.QuestionID, Agent: r.AgentID, Task: r.TaskID, Call: r.CallID,
		Status: status, By: r.AnsweredBy, At: moment(r.At), Until: r.Until,
	}
}

func approval(a query.Approval) journal.Approval {
	return journal.Approval{
		Seq: a.Seq, Agent: a.AgentID, Task: a.TaskID, Call: a.CallID, Tool: a.Tool, Hash: a.Hash,
		Status: journal.ApprovalStatus(a.Status), Allow: a.Allow, Scope: a.Scope, By: a.DecidedBy, Edited: a.Edited,
		At: moment(a.At), Until: a.Until,
	}
}
