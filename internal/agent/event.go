package agent

import (
	"github.com/retinue-dev/retinue/internal/chat"
)

// Event is something that happened. The host builds it from a recorded fact and hands it to Step;
// the interface is sealed.
//
//sumtype:decl
type Event interface {
	event()
	// When is the time of the event in milliseconds since 1970, as the host read its clock.
	When() int64
}

// At is the time of an event.
type At struct {
	At int64 `json:"at"`
}

// When implements Event.
func (a At) When() int64 { return a.At }

// The events. Ids in them are those that the effects carried.
type (
	// Begun starts an agent. From is the last turn of the agent's earlier tasks, zero for a new
	// agent, and Tokens estimates what its first model call will send.
	Begun struct {
		At
		Brief  Brief `json:"brief"`
		From   int   `json:"from,omitempty"`
		Tokens int64 `json:"tokens,omitempty"`
	}

	// Said is a person's message to the orchestrator. Seq counts the messages of the conversation
	// without a gap; InReplyTo names a question, and Decline says that the person will not answer
	// it.
	Said struct {
		At
		Seq       int64  `json:"seq"`
		InReplyTo string `json:"in_reply_to,omitempty"`
		Decline   bool   `json:"decline,omitempty"`
		Tokens    int64  `json:"tokens,omitempty"`
	}

	// Corrected is a person's correction of an answer that a sub-agent was given.
	Corrected struct {
		At
		Seq    int64 `json:"seq"`
		Tokens int64 `json:"tokens,omitempty"`
	}

	// Replied is a complete reply of the model. It has been recorded under its turn, with one call
	// per tool_use; a reply without text and calls has not been put into the transcript.
	Replied struct {
		At
		Turn    int `json:"turn"`
		Attempt int `json:"attempt"`
		// Waited is how long the request stood in a queue of ours; the agent's clock does not count
		// it.
		Waited int64      `json:"waited,omitempty"`
		Usage  chat.Usage `json:"usage"`
		Stop   StopReason `json:"stop,omitempty"`
		// Text reports whether there is any text for a person or a parent to read.
		Text  bool       `json:"text,omitempty"`
		Calls []Call     `json:"calls,omitempty"`
		Roles []RoleSpec `json:"roles,omitempty"`
		// Taint is the agent's taint in the journal, in case the core does not know it.
		Taint Taint `json:"taint,omitempty"`
	}

	// ModelFailed is a model call, of any kind, that gave no usable reply.
	ModelFailed struct {
		At
		Turn       int            `json:"turn"`
		Attempt    int            `json:"attempt"`
		Waited     int64          `json:"waited,omitempty"`
		Kind       chat.ErrorKind `json:"kind"`
		RetryAfter int64          `json:"retry_after,omitempty"`
		Usage      chat.Usage     `json:"usage"`
	}

	// Compacted answers a CallModel of kind TurnCompact. Context is the size of the rest.
	Compacted struct {
		At
		Turn    int        `json:"turn"`
		Attempt int        `json:"attempt"`
		Waited  int64      `json:"waited,omitempty"`
		Usage   chat.Usage `json:"usage"`
		Context int64      `json:"context"`
	}

	// ToolDone is the end of a tool call. The result of a call that ended ok or failed is recorded.
	ToolDone struct {
		At
		Call   string     `json:"call"`
		Result ToolResult `json:"result"`
		Waited int64      `json:"waited,omitempty"`
		Tokens int64      `json:"tokens,omitempty"`
		// Facts counts the known effects of the call.
		Facts int `json:"facts,omitempty"`
		// Reason goes with ToolDenied.
		Reason DenialReason `json:"reason,omitempty"`
		// Taint is where the result comes from, if a stranger may have written it.
		Taint Taint `json:"taint,omitempty"`
	}

	// ChildStarted says that a child runs, or is sure to. Apart means that it has a run of its own.
	ChildStarted struct {
		At
		Task  string `json:"task"`
		Apart bool   `json:"apart,omitempty"`
	}

	// ChildWaited says that nothing in a child's subtree is at work because a person is awaited,
	// or, with an empty reason, that it is at work again.
	ChildWaited struct {
		At
		Task   string          `json:"task"`
		Reason chat.WaitReason `json:"reason,omitempty"`
	}

	// ChildEnded brings the one outcome of a child. Its record exists. Tokens estimates its report.
	ChildEnded struct {
		At
		Task    string  `json:"task"`
		Outcome Outcome `json:"outcome"`
		Tokens  int64   `json:"tokens,omitempty"`
	}

	// Decided is a person's decision on an approval. Hash is the hash that the person was shown, Edited
	// the call with the arguments that they gave it instead, if they allow it so.
	Decided struct {
		At
		Call   string `json:"call"`
		Hash   string `json:"hash"`
		Allow  bool   `json:"allow,omitempty"`
		Scope  Scope  `json:"scope,omitempty"`
		By     string `json:"by,omitempty"`
		Edited *Call  `json:"edited,omitempty"`
	}

	// QuestionAsked tells the orchestrator that an agent somewhere below it asks. The question's id
	// begins with the agent's.
	QuestionAsked struct {
		At
		Question string `json:"question"`
		Hash     string `json:"hash"`
		// Relay asks for the person's own answer: the orchestrator's has not helped.
		Relay bool `json:"relay,omitempty"`
	}

	// QuestionWithdrawn tells the orchestrator that the asking agent no longer waits.
	QuestionWithdrawn struct {
		At
		Question string `json:"question"`
	}

	// Resolved ends a side turn that tried to answer a question from known messages. Answered is
	// false when the model called no tool or the call failed. Confidence is in percent. The
	// messages that an answer rests on are in the record of the side turn.
	Resolved struct {
		At
		Side       int        `json:"side"`
		Answered   bool       `json:"answered,omitempty"`
		Confidence int        `json:"confidence,omitempty"`
		Usage      chat.Usage `json:"usage"`
	}

	// Routed ends a side turn that classified a person's message. The host shows that turn every
	// message since the oldest open question, those found unclear included.
	Routed struct {
		At
		Side      int        `json:"side"`
		Route     Route      `json:"route"`
		Questions []string   `json:"questions,omitempty"`
		Usage     chat.Usage `json:"usage"`
	}

	// Answered brings the answer to the agent that asked. Taint is that of the agent whose words it is
	// in.
	Answered struct {
		At
		Question string   `json:"question"`
		By       AnswerBy `json:"by"`
		Tokens   int64    `json:"tokens,omitempty"`
		Taint    Taint    `json:"taint,omitempty"`
	}

	// Undelivered says that a person's words, sent on to an agent, found nobody.
	Undelivered struct {
		At
		Seq int64 `json:"seq"`
	}

	// CancelRequested asks the agent to stop. The same request may arrive twice; another one, with
	// another id, closes the books without waiting.
	CancelRequested struct {
		At
		ID     string       `json:"id"`
		Reason CancelReason `json:"reason"`
		By     string       `json:"by,omitempty"`
	}

	// ChildCancelRequested stops one child and the agents below it.
	ChildCancelRequested struct {
		At
		Task string `json:"task"`
		By   string `json:"by,omitempty"`
	}

	// CloseRequested ends the conversation for good, before it is archived or deleted.
	CloseRequested struct {
		At
		By string `json:"by,omitempty"`
	}

	// Ticked says that State.Wake has come.
	Ticked struct {
		At
	}
)

func (Begun) event()                {}
func (Said) event()                 {}
func (Corrected) event()            {}
func (Replied) event()              {}
func (ModelFailed) event()          {}
func (Compacted) event()            {}
func (ToolDone) event()             {}
func (ChildStarted) event()         {}
func (ChildWaited) event()          {}
func (ChildEnded) event()           {}
func (Decided) event()              {}
func (QuestionAsked) event()        {}
func (QuestionWithdrawn) event()    {}
func (Resolved) event()             {}
func (Routed) event()               {}
func (Answered) event()             {}
func (Undelivered) event()          {}
func (CancelRequested) event()      {}
func (ChildCancelRequested) event() {}
func (CloseRequested) event()       {}
func (Ticked) event()               {}

// StopReason is why the model stopped talking.
type StopReason string

// The stop reasons that matter to the core.
const (
	StopEnd       StopReason = ""
	StopMaxTokens StopReason = "max_tokens"
	StopRefusal   StopReason = "refusal"
)

// ToolResult is how a tool call ended.
type ToolResult string

// The ends of a tool call.
const (
	ToolOK     ToolResult = "ok"
	ToolFailed ToolResult = "failed"
	// ToolCancelled was aborted on request; a writing tool may have taken effect.
	ToolCancelled ToolResult = "cancelled"
	ToolTimedOut  ToolResult = "timed_out"
	// ToolIndeterminate is a call that is never run twice and whose worker died.
	ToolIndeterminate ToolResult = "indeterminate"
	// ToolDenied was stopped before it ran: the call differs from the approved one, or a rule
	// denies it now.
	ToolDenied ToolResult = "denied"
)

func (r ToolResult) valid() bool {
	switch r {
	case ToolOK, ToolFailed, ToolCancelled, ToolTimedOut, ToolIndeterminate, ToolDenied:
		return true
	}
	return false
}

// Scope is how far an approval reaches.
type Scope string

// The scopes. Task is the asking agent's task, not its siblings'.
const (
	ScopeOnce Scope = "once"
	ScopeTask Scope = "task"
	ScopeChat Scope = "chat"
)

// Route is the class of a person's message that came while questions were open.
type Route string

// The routes. A failed routing turn gives RouteRequest too.
const (
	RouteRequest Route = "request"
	RouteAnswer  Route = "answer"
	RouteDecline Route = "decline"
	RouteStop    Route = "stop"
	RouteUnclear Route = "unclear"
)

// AnswerBy is where an answer came from.
type AnswerBy string

// The sources of an answer.
const (
	ByEarlier      AnswerBy = "earlier"
	ByOrchestrator AnswerBy = "orchestrator"
	ByUser         AnswerBy = "user"
	// ByDecliner is a person who will not answer; ByNobody means that no person could be asked.
	ByDecliner AnswerBy = "decliner"
	ByNobody   AnswerBy = "nobody"
)

func (b AnswerBy) valid() bool {
	switch b {
	case ByEarlier, ByOrchestrator, ByUser, ByDecliner, ByNobody:
		return true
	}
	return false
}

// CancelReason is why somebody wants an agent to stop. A deploy or a restart is not a reason.
type CancelReason string

// The reasons, and the error kind each one gives.
const (
	CancelUser    CancelReason = "user"
	CancelParent  CancelReason = "parent"
	CancelTimeout CancelReason = "timeout"
	CancelBudget  CancelReason = "budget"
	// CancelHistory ends a turn or a run whose record in the engine is about to grow past its
	// limit.
	CancelHistory CancelReason = "history"
)

func (r CancelReason) valid() bool {
	switch r {
	case CancelUser, CancelParent, CancelTimeout, CancelBudget, CancelHistory:
		return true
	}
	return false
}

// kind is the error kind that a run cancelled for this reason ends with.
func (r CancelReason) kind() chat.ErrorKind {
	switch r {
	case CancelTimeout:
		return chat.KindTimedOut
	case CancelBudget:
		return chat.KindBudgetExceeded
	case CancelHistory:
		return chat.KindMaxIterations
	case CancelUser, CancelParent:
		return chat.KindCancelled
	}
	return chat.KindCancelled
}
