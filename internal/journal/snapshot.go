package journal

import (
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Conversation is one line of the list of conversations. Its usage is the sum of its agents' own.
type Conversation struct {
	ID        string
	By        string
	Title     string
	Workspace string
	Archived  bool
	OpenedAt  time.Time
	UpdatedAt time.Time
	// Seq is the last entry, Number the last message of a person.
	Seq    int64
	Number int64
	// PrivateTo is the id of the only person who may see it; empty means everybody in the tenant.
	PrivateTo string
}

// Line is a conversation with the activity that its list shows.
type Line struct {
	Conversation
	// Running is how many of its tasks are under way and wait for nobody.
	Running int
	// Last is how the orchestrator's last turn ended; empty before one has.
	Last chat.Status
}

// Snapshot is the state of a conversation after entry Conversation.Seq. Lists are in the order of
// creation. Messages and calls, whose number has no limit, are read by page.
type Snapshot struct {
	Conversation Conversation
	Agents       []Agent
	Tasks        []Task
	Questions    []Question
	Approvals    []Approval
	Grants       []Grant
	// Leases are those that are not settled.
	Leases []Lease
}

// Agent is one worker. Own is what its model calls used; Subtree adds all agents below it.
type Agent struct {
	ID       string
	Parent   string
	Depth    int
	Role     string
	RoleHash string
	// Task is the agent's latest task.
	Task    string
	Own     chat.Usage
	Subtree chat.Usage
}

// Task is one activation of an agent.
type Task struct {
	ID         string
	Agent      string
	Parent     string
	Call       string
	Item       int
	Trigger    int64
	Background bool
	// Seq is the entry that assigned it.
	Seq        int64
	Status     chat.Status
	Reason     chat.WaitReason
	Kind       chat.ErrorKind
	AssignedAt time.Time
	// StartedAt is when it first ran, FinishedAt when it ended; zero until then.
	StartedAt  time.Time
	FinishedAt time.Time
}

// ModelCall is one attempt at a model request.
type ModelCall struct {
	Seq     int64
	Agent   string
	Task    string
	Call    string
	Type    RequestType
	Turn    int
	Attempt int
	Model   string
	Prompt  string
	// Status is running until the call has ended.
	Status     chat.Status
	Kind       chat.ErrorKind
	Usage      chat.Usage
	StartedAt  time.Time
	FinishedAt time.Time
}

// ToolCall is one tool_use of a reply.
type ToolCall struct {
	Seq        int64
	Agent      string
	Task       string
	Call       string
	Tool       string
	Turn       int
	Status     CallStatus
	Attempt    int
	StartedAt  time.Time
	FinishedAt time.Time
	Duration   int64
}

// QuestionStatus is the state of a question.
type QuestionStatus string

// The states of a question.
const (
	QuestionStatusOpen    QuestionStatus = "open"
	QuestionStatusRelayed QuestionStatus = "relayed"
	QuestionStatusClosed  QuestionStatus = "closed"
)

// Question is an agent's question.
type Question struct {
	Seq    int64
	ID     string
	Agent  string
	Task   string
	Call   string
	Status QuestionStatus
	By     string
	At     time.Time
	Until  int64
}

// ApprovalStatus is the state of an approval.
type ApprovalStatus string

// The states of an approval that has not ended; its end is one of the core's.
const (
	ApprovalStatusOpen ApprovalStatus = "open"
	// ApprovalStatusDecided means that a person decided and the agent has not heard of it yet.
	ApprovalStatusDecided ApprovalStatus = "decided"
)

// Approval is a call that a person must allow.
type Approval struct {
	Seq    int64
	Agent  string
	Task   string
	Call   string
	Tool   string
	Hash   string
	Status ApprovalStatus
	Allow  bool
	Scope  string
	By     string
	// Edited means that it was decided with other arguments than the model's.
	Edited bool
	At     time.Time
	Until  int64
}

// Grant is a pattern that was approved for the whole conversation.
type Grant struct {
	Seq     int64
	Tool    string
	Pattern string
}

// Lease is something reserved before an effect and settled after it: tokens and money for a model
// call, the right to run for a tool call. The lease of an effect whose end nobody knows is never
// settled.
type Lease struct {
	Seq    int64
	Key    string
	Agent  string
	Task   string
	Holder string
	Tokens int64
	Cost   int64
}

// Spent is a conversation's usage, and its reservations beyond that.
func (s Snapshot) Spent() (used chat.Usage, heldTokens, heldCost int64) {
	for _, a := range s.Agents {
		used = used.Plus(a.Own)
	}
	for _, l := range s.Leases {
		heldTokens, heldCost = heldTokens+l.Tokens, heldCost+l.Cost
	}
	return used, heldTokens, heldCost
}

// AddUp fills each agent's Subtree from the agents' own usage. Parents come before their children.
func AddUp(agents []Agent) {
	at := make(map[string]int, len(agents))
	for i := range agents {
		agents[i].Subtree = agents[i].Own
		at[agents[i].ID] = i
	}
	for i := len(agents) - 1; i >= 0; i-- {
		if parent, ok := at[agents[i].Parent]; ok && agents[i].Parent != "" {
			agents[parent].Subtree = agents[parent].Subtree.Plus(agents[i].Subtree)
		}
	}
}

// Waiting is a question or an approval that waits for a person. Find with the key has its content.
type Waiting struct {
	Conversation string
	Seq          int64
	At           time.Time
	Agent        string
	Task         string
	Key          string
	Until        int64
	// PrivateTo is the conversation's.
	PrivateTo string
}

// Words is the text of a message.
func Words(parts []chat.Part) string {
	var words []string
	for _, p := range parts {
		if p.Kind == chat.PartText {
			words = append(words, p.Text)
		}
	}
	return strings.Join(words, "\n")
}
