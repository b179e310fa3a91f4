package journaltest

import (
	"cmp"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// View is the state of a conversation in memory, brought up to date by the changes that stores
// write to their tables. Stores are compared with it.
type View struct {
	conversation journal.Conversation
	entries      []journal.Entry
	seqs         map[string]int64 // by key

	agents     []journal.Agent
	tasks      []journal.Task
	modelCalls []journal.ModelCall
	toolCalls  []toolCall
	questions  []journal.Question
	approvals  []journal.Approval
	grants     []journal.Grant
	leases     []lease
	posts      []post
	messages   []message
	// turns holds the ends of orchestrators' turns.
	turns []journal.Entry
}

type toolCall struct {
	journal.ToolCall

	item                            int64
	voided, started, wanted, closed bool
	result                          journal.CallStatus
}

type lease struct {
	journal.Lease

	settled bool
}

type post struct {
	journal.Post

	seq int64
}

type message struct {
	journal.Message

	chat, voided bool
	words        []string
}

// NewView returns the view of an empty list.
func NewView() *View { return &View{seqs: map[string]int64{}} }

// Apply folds one entry. Entries come in order, as a Plan admitted them.
func (v *View) Apply(ref journal.Ref, e journal.Entry) {
	v.entries = append(v.entries, e)
	v.seqs[e.Row.Key()] = e.Seq
	v.conversation.ID = ref.Conversation
	v.conversation.Seq, v.conversation.UpdatedAt = e.Seq, e.At
	v.conversation.Number = max(v.conversation.Number, e.Number)
	if e.Row.Kind() == journal.KindTurnEnded {
		v.turns = append(v.turns, e)
	}
	for _, c := range journal.Changes(ref, e, func(key string) int64 { return v.seqs[key] }) {
		v.write(ref, c)
	}
}

// find is the row of a key, nil if there is none.
func (v *View) find(key string) journal.Row {
	if seq := v.seqs[key]; seq > 0 {
		return v.entries[seq-1].Row
	}
	return nil
}

// line finds a line of a table. For a missing one it returns a line that nobody keeps, as a
// statement would change nothing.
func line[L any](lines []L, is func(*L) bool) *L {
	for i := range lines {
		if is(&lines[i]) {
			return &lines[i]
		}
	}
	return new(L)
}

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func (v *View) write(ref journal.Ref, c journal.Change) {
	switch c := c.(type) {
	case journal.ConversationOpened:
		v.conversation.By, v.conversation.Title, v.conversation.Workspace = c.OpenedBy, c.Title, c.Workspace
		v.conversation.OpenedAt, v.conversation.PrivateTo = at(c.At), c.PrivateTo
	case journal.ConversationShared:
		v.conversation.PrivateTo = ""
	case journal.ConversationTitled:
		v.conversation.Title = c.Title
	case journal.ConversationArchived:
		v.conversation.Archived = true
	case journal.MailAdded:
		v.posts = append(v.posts, post{seq: c.Seq, Post: journal.Post{
			Ref: ref, ID: c.Post, Topic: c.Topic, To: c.Agent, At: at(c.At),
		}})
	case journal.MailRemoved:
		v.posts = slices.DeleteFunc(v.posts, func(p post) bool { return p.ID == c.Post })
	case journal.AgentAdded, journal.TaskAdded, journal.TaskMoved, journal.TaskFinished, journal.UsageAdded:
		v.writeTask(c)
	case journal.MessageListed, journal.ReplyTaken:
		v.writeMessage(c)
	case journal.CallAdded, journal.CallStarted, journal.CallFinished, journal.CallHeld, journal.CallReleased:
		v.writeToolCall(c)
	case journal.ModelCallAdded, journal.ModelCallFinished:
		v.writeModelCall(c)
	case journal.LeaseHeld, journal.LeaseSettled:
		v.writeLease(c)
	case journal.MonthSettled: // It is the tenant's.
	case journal.QuestionAdded, journal.QuestionShown, journal.QuestionClosed:
		v.writeQuestion(c)
	case journal.ApprovalAdded, journal.ApprovalAnswered, journal.ApprovalEnded, journal.GrantAdded:
		v.writeApproval(c)
	}
}

func (v *View) agent(id string) *journal.Agent {
	return line(v.agents, func(a *journal.Agent) bool { return a.ID == id })
}

func (v *View) task(id string) *journal.Task {
	return line(v.tasks, func(t *journal.Task) bool { return t.ID == id })
}

func (v *View) writeTask(c journal.Change) {
	switch c := c.(type) {
	case journal.AgentAdded:
		if known := v.agent(c.Agent); known.ID != "" {
			known.Task = c.Task
			return
		}
		v.agents = append(v.agents, journal.Agent{
			ID: c.Agent, Parent: c.Parent, Depth: int(c.Depth), Role: c.Role, RoleHash: c.RoleHash, Task: c.Task,
		})
	case journal.TaskAdded:
		v.tasks = append(v.tasks, journal.Task{
			ID: c.Task, Agent: c.Agent, Parent: c.Parent, Call: c.Call, Item: int(c.Item), Trigger: c.TriggerNumber,
			Background: c.Background, Seq: c.Seq, Status: chat.StatusPending, AssignedAt: at(c.At),
		})
	case journal.TaskMoved:
		t := v.task(c.Task)
		if !t.FinishedAt.IsZero() {
			return
		}
		t.Status, t.Reason = chat.Status(c.Status), chat.WaitReason(c.Reason)
		if t.Status == chat.StatusRunning && t.StartedAt.IsZero() {
			t.StartedAt = at(c.At)
		}
	case journal.TaskFinished:
		t := v.task(c.Task)
		t.Status, t.Reason, t.Kind, t.FinishedAt = chat.Status(c.Status), "", chat.ErrorKind(c.ErrorKind), at(c.At)
	case journal.UsageAdded:
		a := v.agent(c.Agent)
		a.Own = a.Own.Plus(chat.Usage{
			Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite,
			Reasoning: c.Reasoning, Cost: c.Cost, Unpriced: c.Unpriced,
		})
	default: // write sends nothing else here.
	}
}

func (v *View) writeMessage(c journal.Change) {
	switch c := c.(type) {
	case journal.MessageListed:
		v.messages = append(v.messages, message{
			Message: journal.MessageOf(v.entries[c.Seq-1]), chat: c.InChat, voided: c.Voided, words: c.Words,
		})
	case journal.ReplyTaken:
		for i := range v.messages {
			m := &v.messages[i]
			m.voided = m.voided || (m.Agent == c.Agent && int64(m.Turn) == c.Turn && m.Speaker == chat.Assistant)
		}
		for i := range v.toolCalls {
			t := &v.toolCalls[i]
			t.voided = t.voided || (t.Agent == c.Agent && int64(t.Turn) == c.Turn)
		}
	default: // write sends nothing else here.
	}
}

func (v *View) toolCall(agent string, turn, item int64) *toolCall {
	return line(v.toolCalls, func(c *toolCall) bool { return c.Agent == agent && int64(c.Turn) == turn && c.item == item })
}

func (v *View) writeToolCall(c journal.Change) {
	switch c := c.(type) {
	case journal.CallAdded:
		if v.toolCall(c.Agent, c.Turn, c.Item).Call == "" {
			v.toolCalls = append(v.toolCalls, toolCall{item: c.Item, voided: c.Voided, ToolCall: journal.ToolCall{
				Seq: c.Seq, Agent: c.Agent, Task: c.Task, Call: c.Call, Tool: c.Tool, Turn: int(c.Turn),
			}})
		}
	case journal.CallStarted:
		t := v.toolCall(c.Agent, c.Turn, c.Item)
		t.started, t.Attempt = true, max(t.Attempt, int(c.Attempt))
		if t.StartedAt.IsZero() {
			t.StartedAt = at(c.At)
		}
	case journal.CallFinished:
		t := v.toolCall(c.Agent, c.Turn, c.Item)
		t.result, t.FinishedAt, t.Duration = journal.CallStatus(c.Result), at(c.At), c.Duration
	case journal.CallHeld:
		v.toolCall(c.Agent, c.Turn, c.Item).wanted = true
	case journal.CallReleased:
		v.toolCall(c.Agent, c.Turn, c.Item).closed = true
	default: // write sends nothing else here.
	}
}

func (v *View) writeModelCall(c journal.Change) {
	switch c := c.(type) {
	case journal.ModelCallAdded:
		v.modelCalls = append(v.modelCalls, journal.ModelCall{
			Seq: c.Seq, Agent: c.Agent, Task: c.Task, Call: c.Call, Type: journal.RequestType(c.RequestType),
			Turn: int(c.Turn), Attempt: int(c.Attempt), Model: c.Model, Prompt: c.Prompt, Status: chat.StatusRunning,
			StartedAt: at(c.At),
		})
	case journal.ModelCallFinished:
		m := line(v.modelCalls, func(m *journal.ModelCall) bool { return m.Seq == c.Seq })
		m.Status, m.Kind, m.FinishedAt = chat.Status(c.Status), chat.ErrorKind(c.ErrorKind), at(c.At)
		m.Model = cmp.Or(c.Model, m.Model)
		m.Usage = chat.Usage{
			Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite,
			Reasoning: c.Reasoning, Cost: c.Cost, Unpriced: c.Unpriced,
		}
	default: // write sends nothing else here.
	}
}

func (v *View) writeLease(c journal.Change) {
	named := func(key string) *lease { return line(v.leases, func(l *lease) bool { return l.Key == key }) }
	switch c := c.(type) {
	case journal.LeaseHeld:
		if known := named(c.Key); known.Key != "" {
			known.Holder = c.Holder
			return
		}
		v.leases = append(v.leases, lease{Lease: journal.Lease{
			Seq: c.Seq, Key: c.Key, Agent: c.Agent, Task: c.Task, Holder: c.Holder, Tokens: c.Tokens, Cost: c.Cost,
		}})
	case journal.LeaseSettled:
		named(c.Key).settled = true
	default: // write sends nothing else here.
	}
}

func (v *View) writeQuestion(c journal.Change) {
	named := func(id string) *journal.Question {
		return line(v.questions, func(q *journal.Question) bool { return q.ID == id })
	}
	switch c := c.(type) {
	case journal.QuestionAdded:
		v.questions = append(v.questions, journal.Question{
			Seq: c.Seq, ID: c.Question, Agent: c.Agent, Task: c.Task, Call: c.Call,
			Status: journal.QuestionStatusOpen, At: at(c.At), Until: c.Until,
		})
	case journal.QuestionShown:
		if q := named(c.Question); q.Status == journal.QuestionStatusOpen {
			q.Status = journal.QuestionStatusRelayed
		}
	case journal.QuestionClosed:
		q := named(c.Question)
		q.Status, q.By = journal.QuestionStatusClosed, c.AnsweredBy
	default: // write sends nothing else here.
	}
}

func (v *View) writeApproval(c journal.Change) {
	about := func(agent, call string) *journal.Approval {
		return line(v.approvals, func(a *journal.Approval) bool { return a.Agent == agent && a.Call == call })
	}
	switch c := c.(type) {
	case journal.ApprovalAdded:
		v.approvals = append(v.approvals, journal.Approval{
			Seq: c.Seq, Agent: c.Agent, Task: c.Task, Call: c.Call, Tool: c.Tool, Hash: c.Hash,
			Status: journal.ApprovalStatusOpen, At: at(c.At), Until: c.Until,
		})
	case journal.ApprovalAnswered:
		if a := about(c.Agent, c.Call); a.Status == journal.ApprovalStatusOpen {
			a.Status, a.Allow, a.Scope, a.By, a.Edited = journal.ApprovalStatusDecided, c.Allow, c.Scope, c.DecidedBy, c.Edited
		}
	case journal.ApprovalEnded:
		a := about(c.Agent, c.Call)
		a.Status = journal.ApprovalStatus(c.Status)
		a.Scope, a.By = cmp.Or(c.Scope, a.Scope), cmp.Or(c.DecidedBy, a.By)
	case journal.GrantAdded:
		v.grants = append(v.grants, journal.Grant{Seq: c.Seq, Tool: c.Tool, Pattern: c.Pattern})
	default: // write sends nothing else here.
	}
}
