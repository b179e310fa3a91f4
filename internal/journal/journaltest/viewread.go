package journaltest

import (
	"maps"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Snapshot returns the state.
func (v *View) Snapshot() journal.Snapshot {
	s := journal.Snapshot{
		Conversation: v.conversation, Agents: slices.Clone(v.agents), Tasks: slices.Clone(v.tasks),
		Questions: slices.Clone(v.questions), Approvals: slices.Clone(v.approvals),
		Grants: slices.Clone(v.grants),
	}
	journal.AddUp(s.Agents)
	for _, l := range v.leases {
		if !l.settled {
			s.Leases = append(s.Leases, l.Lease)
		}
	}
	return s
}

// Working returns the tasks that were assigned before a time and have not ended.
func (v *View) Working(ref journal.Ref, before time.Time) []journal.WorkingTask {
	var out []journal.WorkingTask
	for _, t := range v.tasks {
		if !t.Status.Terminal() && t.AssignedAt.Before(before) && (t.Parent != "" || t.Status != chat.StatusPending) {
			out = append(out, journal.WorkingTask{Ref: ref, Task: t.ID, Agent: t.Agent, Parent: t.Parent, Background: t.Background})
		}
	}
	return out
}

// Mail returns the posts that wait for an agent.
func (v *View) Mail(agent string) []journal.Entry {
	var out []journal.Entry
	for _, p := range v.posts {
		if p.To == agent {
			out = append(out, v.entries[p.seq-1])
		}
	}
	return out
}

// Mailboxes returns the agents for which something waits.
func (v *View) Mailboxes() []string {
	agents := map[string]bool{}
	for _, p := range v.posts {
		if p.To != "" {
			agents[p.To] = true
		}
	}
	return slices.Sorted(maps.Keys(agents))
}

// Pending returns what was posted before a time and not delivered.
func (v *View) Pending(before time.Time) []journal.Post {
	var out []journal.Post
	for _, p := range v.posts {
		if p.At.Before(before) {
			out = append(out, p.Post)
		}
	}
	return out
}

// Transcript returns the last messages of an agent that were not voided.
func (v *View) Transcript(agent string, page journal.Page) []journal.Message {
	return lastMessages(v.messages, page, func(m message) bool {
		return m.Agent == agent && m.Number == 0 && !m.voided
	})
}

// Chat returns the last of what people and the orchestrator said.
func (v *View) Chat(page journal.Page) []journal.Message {
	return lastMessages(v.messages, page, func(m message) bool { return m.chat && !m.voided })
}

func lastMessages(messages []message, page journal.Page, keep func(message) bool) []journal.Message {
	var out []journal.Message
	for _, m := range messages {
		if keep(m) && (page.Before == 0 || m.Seq < page.Before) {
			out = append(out, m.Message)
		}
	}
	return out[max(0, len(out)-page.Size()):]
}

// ModelCalls returns the last model calls of an agent.
func (v *View) ModelCalls(agent string, page journal.Page) []journal.ModelCall {
	var out []journal.ModelCall
	for _, c := range v.modelCalls {
		if c.Agent == agent && (page.Before == 0 || c.Seq < page.Before) {
			out = append(out, c)
		}
	}
	return out[max(0, len(out)-page.Size()):]
}

// ToolCalls returns the last tool calls of an agent.
func (v *View) ToolCalls(agent string, page journal.Page) []journal.ToolCall {
	var out []journal.ToolCall
	for _, c := range v.toolCalls {
		if c.Agent != agent || (page.Before != 0 && c.Seq >= page.Before) {
			continue
		}
		c.ToolCall.Status = journal.CallState(c.result, c.started, c.wanted && !c.closed, c.voided)
		out = append(out, c.ToolCall)
	}
	return out[max(0, len(out)-page.Size()):]
}

// Inbox returns what waits for a person, the oldest first.
func (v *View) Inbox() []journal.Waiting {
	var out []journal.Waiting
	for _, q := range v.questions {
		if q.Status == journal.QuestionStatusRelayed {
			out = append(out, journal.Waiting{
				Conversation: v.conversation.ID, Seq: q.Seq, At: q.At, Agent: q.Agent, Task: q.Task,
				Key: journal.QuestionAsked{Question: q.ID}.Key(), Until: q.Until, PrivateTo: v.conversation.PrivateTo,
			})
		}
	}
	for _, a := range v.approvals {
		if a.Status == journal.ApprovalStatusOpen {
			out = append(out, journal.Waiting{
				Conversation: v.conversation.ID, Seq: a.Seq, At: a.At, Agent: a.Agent, Task: a.Task,
				Key: journal.ApprovalRequested{In: journal.In{Agent: a.Agent}, Call: a.Call}.Key(), Until: a.Until, PrivateTo: v.conversation.PrivateTo,
			})
		}
	}
	slices.SortFunc(out, func(a, b journal.Waiting) int { return int(a.Seq - b.Seq) })
	return out
}

// Search returns the messages of people and models that hold all words of a query.
func (v *View) Search(query journal.Query) []journal.Hit {
	var out []journal.Hit
	want := journal.Split(query.Words)
	for _, m := range v.messages {
		spoken := m.Number > 0 || m.Speaker == chat.Assistant
		if !spoken || m.voided || (!m.chat && !query.SubAgents) || len(want) == 0 {
			continue
		}
		text := journal.Words(m.Parts)
		if slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(m.words, w) }) {
			continue
		}
		out = append(out, journal.Hit{
			Conversation: v.conversation.ID, Seq: m.Seq, At: m.At, Agent: m.Agent,
			Speaker: m.Speaker, Text: text,
		})
	}
	return out
}
