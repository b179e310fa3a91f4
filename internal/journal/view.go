package journal

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// View is the fold of a conversation's list: what each entry means for what people ask. It is the
// definition that stores are checked against. The zero value is the view of an empty list.
type View struct {
	conversation Conversation
	agents       []Agent
	tasks        []Task
	modelCalls   []ModelCall
	toolCalls    []toolCall
	questions    []Question
	approvals    []Approval
	grants       []Grant
	leases       []lease
	posts        []post
	messages     []message
	// turns holds the ends of orchestrators' turns.
	turns []Entry
	// facts holds the entries that records are made of, by key.
	facts map[string]Entry

	agentAt    map[string]int
	taskAt     map[string]int
	modelAt    map[string]int
	toolAt     map[string]int
	questionAt map[string]int
	approvalAt map[string]int
	postAt     map[string]int
	leaseAt    map[string]int
	voided     map[string]bool
}

type toolCall struct {
	ToolCall
	started, wanted, closed bool
	result                  CallStatus
}

type lease struct {
	Lease
	settled bool
}

type post struct {
	Post
	entry     Entry
	delivered bool
}

type message struct {
	Message
	chat bool
}

// NewView returns the view of an empty list.
func NewView() *View {
	return &View{
		agentAt: map[string]int{}, taskAt: map[string]int{}, modelAt: map[string]int{},
		toolAt: map[string]int{}, questionAt: map[string]int{}, approvalAt: map[string]int{},
		postAt: map[string]int{}, leaseAt: map[string]int{}, voided: map[string]bool{}, facts: map[string]Entry{},
	}
}

// NotFound is the one answer to what does not exist and to what is somebody else's.
func NotFound() error {
	return &chat.Error{Code: chat.CodeNotFound, Message: "there is no such conversation"}
}

// Apply folds one entry. Entries come in order, as a Plan admitted them.
func (v *View) Apply(ref Ref, e Entry) {
	v.conversation.Seq, v.conversation.UpdatedAt = e.Seq, e.At
	switch r := e.Row.(type) {
	case Opened:
		v.conversation.ID, v.conversation.By = ref.Conversation, r.By
		v.conversation.Title, v.conversation.Workspace = r.Title, r.Workspace
		v.conversation.OpenedAt, v.conversation.PrivateTo = e.At, r.PrivateTo
	case Shared:
		v.conversation.PrivateTo = ""
	case Titled:
		v.conversation.Title = r.Title
	case Archived:
		v.conversation.Archived = true
	case MessageReceived:
		v.conversation.Number = e.Number
		v.messages = append(v.messages, message{chat: true, Message: MessageOf(e)})
	case MailPosted:
		v.postAt[r.ID] = len(v.posts)
		v.posts = append(v.posts, post{Post: Post{Ref: ref, ID: r.ID, Topic: r.Topic, To: r.To, At: e.At}, entry: e})
	case MailDelivered:
		if i, ok := v.postAt[r.ID]; ok {
			v.posts[i].delivered = true
		}
	case TaskAssigned, StatusChanged, TaskEnded:
		v.facts[e.Row.Key()] = e
		v.applyTask(e)
	case MessageAdded, ReplyVoided:
		v.applyMessage(e)
	case ModelCalled, ModelReplied:
		v.facts[e.Row.Key()] = e
		v.applyModelCall(e)
	case ToolStarted, ToolReturned:
		v.applyToolCall(e)
	case QuestionAsked, QuestionRelayed, QuestionAnswered:
		v.applyQuestion(e)
	case ApprovalRequested, ApprovalDecided, ApprovalClosed, Granted:
		v.applyApproval(e)
	case TurnEnded:
		v.turns = append(v.turns, e)
	case Stepped, NoteAdded, PatchKept, EditProposed, HostReached, Tainted:
		// They are read from the list.
	case Newer:
		// Nobody here knows what it means. The build that wrote it has folded it.
	}
}

func (v *View) applyTask(e Entry) {
	switch r := e.Row.(type) {
	case TaskAssigned:
		if i, ok := v.agentAt[r.Agent]; ok {
			v.agents[i].Task = r.Task
		} else {
			v.agentAt[r.Agent] = len(v.agents)
			v.agents = append(v.agents, Agent{
				ID: r.Agent, Parent: r.Parent, Depth: r.Depth, Role: r.Role, RoleHash: r.RoleHash,
				Task: r.Task,
			})
		}
		v.taskAt[r.Task] = len(v.tasks)
		v.tasks = append(v.tasks, Task{
			ID: r.Task, Agent: r.Agent, Parent: r.Parent, Call: r.Call, Item: r.Item,
			Trigger: r.Trigger, Background: r.Background, Seq: e.Seq, Status: chat.StatusPending,
			AssignedAt: e.At,
		})
	case StatusChanged:
		t := &v.tasks[v.taskAt[r.Task]]
		if !t.FinishedAt.IsZero() {
			return
		}
		t.Status, t.Reason = r.Status, r.Reason
		if r.Status == chat.StatusRunning && t.StartedAt.IsZero() {
			t.StartedAt = e.At
		}
	case TaskEnded:
		t := &v.tasks[v.taskAt[r.Task]]
		t.Status, t.Reason, t.Kind, t.FinishedAt = r.Status, "", r.ErrorKind, e.At
	default:
		// Apply sends nothing else here.
	}
}

func (v *View) applyMessage(e Entry) {
	switch r := e.Row.(type) {
	case MessageAdded:
		root := v.agents[v.agentAt[r.Agent]].Depth == 0
		v.messages = append(v.messages, message{
			chat: root && r.Message.Speaker == chat.Assistant, Message: MessageOf(e),
		})
		for _, p := range r.Message.Parts {
			key := r.Agent + "#" + p.Call
			if _, known := v.toolAt[key]; known || p.Kind != chat.PartToolUse {
				continue
			}
			v.toolAt[key] = len(v.toolCalls)
			v.toolCalls = append(v.toolCalls, toolCall{ToolCall: ToolCall{
				Seq: e.Seq, Agent: r.Agent, Task: r.Task, Call: p.Call, Tool: p.Tool, Turn: r.Turn,
			}})
		}
	case ReplyVoided:
		v.voided[VoidKey(r.Agent, r.Turn)] = true
	default:
		// Apply sends nothing else here.
	}
}

func (v *View) applyModelCall(e Entry) {
	switch r := e.Row.(type) {
	case ModelCalled:
		v.modelAt[r.Task+"#"+r.Call] = len(v.modelCalls)
		v.modelCalls = append(v.modelCalls, ModelCall{
			Seq: e.Seq, Agent: r.Agent, Task: r.Task, Call: r.Call, Type: r.Type, Turn: r.Turn,
			Attempt: r.Attempt, Model: r.Model, Prompt: r.Prompt, Status: chat.StatusRunning,
			StartedAt: e.At,
		})
		v.hold(Lease{
			Seq: e.Seq, Key: r.Key(), Agent: r.Agent, Task: r.Task, Tokens: r.HoldTokens,
			Cost: r.HoldCost,
		})
	case ModelReplied:
		a := &v.agents[v.agentAt[r.Agent]]
		a.Own = a.Own.Plus(r.Usage)
		i, ok := v.modelAt[r.Task+"#"+r.Call]
		if !ok {
			return
		}
		c := &v.modelCalls[i]
		c.Status, c.Kind, c.Usage, c.FinishedAt = r.Status, r.ErrorKind, r.Usage, e.At
		c.Model = cmp.Or(r.Model, c.Model)
		if !r.Unmetered {
			v.settle(ModelCalled{In: r.In, Call: r.Call}.Key())
		}
	default:
		// Apply sends nothing else here.
	}
}

// hold takes a lease. A holder that it has already is relieved of it.
func (v *View) hold(l Lease) {
	if i, ok := v.leaseAt[l.Key]; ok {
		v.leases[i].Holder = l.Holder
		return
	}
	v.leaseAt[l.Key] = len(v.leases)
	v.leases = append(v.leases, lease{Lease: l})
}

func (v *View) settle(key string) {
	if i, ok := v.leaseAt[key]; ok {
		v.leases[i].settled = true
	}
}

func (v *View) applyToolCall(e Entry) {
	switch r := e.Row.(type) {
	case ToolStarted:
		v.hold(Lease{
			Seq: e.Seq, Key: LeaseKey(r.Agent, r.Call), Agent: r.Agent, Task: r.Task,
			Holder: r.Worker,
		})
		if i, ok := v.toolAt[r.Agent+"#"+r.Call]; ok {
			c := &v.toolCalls[i]
			c.started, c.Attempt = true, max(c.Attempt, r.Attempt)
			if c.StartedAt.IsZero() {
				c.StartedAt = e.At
			}
		}
	case ToolReturned:
		if i, ok := v.toolAt[r.Agent+"#"+r.Call]; ok {
			c := &v.toolCalls[i]
			c.result, c.FinishedAt, c.Duration = r.Status, e.At, r.Duration
		}
		if r.Status != CallIndeterminate {
			v.settle(LeaseKey(r.Agent, r.Call))
		}
	default:
		// Apply sends nothing else here.
	}
}

func (v *View) applyQuestion(e Entry) {
	switch r := e.Row.(type) {
	case QuestionAsked:
		v.questionAt[r.Question] = len(v.questions)
		v.questions = append(v.questions, Question{
			Seq: e.Seq, ID: r.Question, Agent: r.Agent, Task: r.Task, Call: r.Call,
			Status: QuestionStatusOpen, At: e.At, Until: r.Until,
		})
	case QuestionRelayed:
		if i, ok := v.questionAt[r.Question]; ok && v.questions[i].Status == QuestionStatusOpen {
			v.questions[i].Status = QuestionStatusRelayed
		}
	case QuestionAnswered:
		if i, ok := v.questionAt[r.Question]; ok {
			v.questions[i].Status, v.questions[i].By = QuestionStatusClosed, r.By
		}
	default:
		// Apply sends nothing else here.
	}
}

func (v *View) applyApproval(e Entry) {
	agent, _ := e.Row.about()
	call := func(mark func(*toolCall), key string) {
		if i, ok := v.toolAt[agent+"#"+key]; ok {
			mark(&v.toolCalls[i])
		}
	}
	switch r := e.Row.(type) {
	case ApprovalRequested:
		v.approvalAt[agent+"#"+r.Call] = len(v.approvals)
		v.approvals = append(v.approvals, Approval{
			Seq: e.Seq, Agent: r.Agent, Task: r.Task, Call: r.Call, Tool: r.Tool, Hash: r.Hash,
			Status: ApprovalStatusOpen, At: e.At, Until: r.Until,
		})
		call(func(c *toolCall) { c.wanted = true }, r.Call)
	case ApprovalDecided:
		if i, ok := v.approvalAt[agent+"#"+r.Call]; ok && v.approvals[i].Status == ApprovalStatusOpen {
			a := &v.approvals[i]
			a.Status, a.Allow, a.Scope, a.By, a.Edited = ApprovalStatusDecided, r.Allow, r.Scope, r.By, r.Args != ""
		}
	case ApprovalClosed:
		if i, ok := v.approvalAt[agent+"#"+r.Call]; ok {
			a := &v.approvals[i]
			a.Status = ApprovalStatus(r.Status)
			a.Scope, a.By = cmp.Or(r.Scope, a.Scope), cmp.Or(r.By, a.By)
		}
		call(func(c *toolCall) { c.closed = true }, r.Call)
	case Granted:
		v.grants = append(v.grants, Grant{Seq: e.Seq, Tool: r.Tool, Pattern: r.Pattern})
	default:
		// Apply sends nothing else here.
	}
}

// Snapshot returns the state.
func (v *View) Snapshot() Snapshot {
	s := Snapshot{
		Conversation: v.conversation, Agents: slices.Clone(v.agents), Tasks: slices.Clone(v.tasks),
		Questions: slices.Clone(v.questions), Approvals: slices.Clone(v.approvals),
		Grants: slices.Clone(v.grants),
	}
	AddUp(s.Agents)
	for _, l := range v.leases {
		if !l.settled {
			s.Leases = append(s.Leases, l.Lease)
		}
	}
	return s
}

// Working returns the tasks that were assigned before a time and have not ended.
func (v *View) Working(ref Ref, before time.Time) []WorkingTask {
	var out []WorkingTask
	for _, t := range v.tasks {
		if !t.Status.Terminal() && t.AssignedAt.Before(before) && (t.Parent != "" || t.Status != chat.StatusPending) {
			out = append(out, WorkingTask{Ref: ref, Task: t.ID, Agent: t.Agent, Parent: t.Parent, Background: t.Background})
		}
	}
	return out
}

// Mail returns the posts that wait for an agent.
func (v *View) Mail(agent string) []Entry {
	var out []Entry
	for _, p := range v.posts {
		if !p.delivered && p.To == agent {
			out = append(out, p.entry)
		}
	}
	return out
}

// Mailboxes returns the agents for which something waits.
func (v *View) Mailboxes() []string {
	agents := map[string]bool{}
	for _, p := range v.posts {
		if !p.delivered && p.To != "" {
			agents[p.To] = true
		}
	}
	return slices.Sorted(maps.Keys(agents))
}

// Pending returns what was posted before a time and not delivered.
func (v *View) Pending(before time.Time) []Post {
	var out []Post
	for _, p := range v.posts {
		if !p.delivered && p.At.Before(before) {
			out = append(out, p.Post)
		}
	}
	return out
}
