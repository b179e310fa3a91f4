package agent

import (
	"github.com/retinue-dev/retinue/internal/chat"
)

// Effect is an order of the core to its host. Records are written to the journal; everything else
// does something outside it. Step returns all records of a step before the rest, and the host
// carries them out in that order. The interface is sealed.
//
//sumtype:decl
type Effect interface {
	effect()
	// Key names the effect within its task. It is the same on every replay and no two effects share
	// it, so a host that is not sure whether it carried an effect out carries it out again under
	// the same key.
	Key() string
	// Record reports whether the effect only writes to the journal.
	Record() bool
	// Local reports whether a leg may carry the effect out itself; otherwise it needs the engine.
	Local() bool
}

type record struct{}

func (record) effect()      {}
func (record) Record() bool { return true }
func (record) Local() bool  { return true }

type local struct{}

func (local) effect()      {}
func (local) Record() bool { return false }
func (local) Local() bool  { return true }

type engine struct{}

func (engine) effect()      {}
func (engine) Record() bool { return false }
func (engine) Local() bool  { return false }

// The records.
type (
	// Append adds one message from the user's side to the transcript: the results of a round in the
	// order of its calls, then people's messages, then notices of background tasks, then notes of
	// the core.
	Append struct {
		record
		Serial int `json:"serial"`
		// Turn and Results name the calls Turn.0 to Turn.(Results-1).
		Turn    int      `json:"turn,omitempty"`
		Results int      `json:"results,omitempty"`
		Reads   []int64  `json:"reads,omitempty"`
		Notices []string `json:"notices,omitempty"`
		// Cap is how many bytes the report in each notice may take.
		Cap   int64    `json:"cap,omitempty"`
		Notes []string `json:"notes,omitempty"`
	}

	// Settle records the result of a call that no tool produced: a refusal, a synthetic end, the
	// reports of children (Tasks, in spawn order, each cut to Cap bytes) or the answer to a question.
	// To the text of a denied call the host adds the reason that the person gave, and, with Receipt, to
	// that of a submit call the claims that the facts contradict, and, with Edited, to that of any call
	// the arguments that a person gave it. Unknown means that nobody knows whether the call happened:
	// it is on record as indeterminate.
	Settle struct {
		record
		Call     string     `json:"call"`
		Status   CallStatus `json:"status"`
		Text     string     `json:"text,omitempty"`
		Tasks    []string   `json:"tasks,omitempty"`
		Cap      int64      `json:"cap,omitempty"`
		Question string     `json:"question,omitempty"`
		Receipt  bool       `json:"receipt,omitempty"`
		Unknown  bool       `json:"unknown,omitempty"`
		Edited   bool       `json:"edited,omitempty"`
		// Reason is set for a call that could have been carried out.
		Reason DenialReason `json:"reason,omitempty"`
	}

	// Enlist records a child and its first message before anything starts it. Item is its index in
	// the call.
	Enlist struct {
		record
		Call  string `json:"call"`
		Item  int    `json:"item"`
		Brief Brief  `json:"brief"`
	}

	// EndTask records the outcome of a child that never ran or did not stop in time.
	EndTask struct {
		record
		Task    string  `json:"task"`
		Outcome Outcome `json:"outcome"`
	}

	// OpenApproval shows a person a call that waits for their decision. The host knows whose call
	// it is, and the agent's id names its ancestors.
	OpenApproval struct {
		record
		Call    string `json:"call"`
		Tool    string `json:"tool"`
		Hash    string `json:"hash"`
		Pattern string `json:"pattern,omitempty"`
		Until   int64  `json:"until"`
		// Taint is the list of sources that the agent has read, if they are the reason to ask the
		// person despite the rules.
		Taint Taint `json:"taint,omitempty"`
	}

	// CloseApproval takes the card away: approved, denied, expired or cancelled.
	CloseApproval struct {
		record
		Call   string         `json:"call"`
		Status ApprovalStatus `json:"status"`
		Scope  Scope          `json:"scope,omitempty"`
		By     string         `json:"by,omitempty"`
	}

	// Relay shows a person a question that nobody else could answer.
	Relay struct {
		record
		Question string `json:"question"`
		Agent    string `json:"agent"`
	}

	// CloseQuestion records how a question ended.
	CloseQuestion struct {
		record
		Question string   `json:"question"`
		By       AnswerBy `json:"by,omitempty"`
	}

	// Note is a line for people, not for the model.
	Note struct {
		record
		Serial int      `json:"serial"`
		Kind   NoteKind `json:"kind"`
		// Question or Seq names the subject of the line.
		Question string `json:"question,omitempty"`
		Seq      int64  `json:"seq,omitempty"`
	}

	// Void says that any reply to a turn, early or late, is not part of the transcript: nobody
	// waited for its end.
	Void struct {
		record
		Turn int `json:"turn"`
	}

	// EndTurn ends an orchestrator's turn. A kind other than "" is shown to the person.
	EndTurn struct {
		record
		Serial int            `json:"serial"`
		Turn   int            `json:"turn"`
		Status chat.Status    `json:"status"`
		Kind   chat.ErrorKind `json:"kind,omitempty"`
		Reason string         `json:"reason,omitempty"`
		By     string         `json:"by,omitempty"`
		// Cut means that the answer was cut off at the model's output limit.
		Cut bool `json:"cut,omitempty"`
	}
)

// The orders that a leg may carry out itself.
type (
	// CallModel asks the model for the next reply. Tools are those of Offer for this kind of turn.
	// The hold is the most that the call may use; it is reserved until the reply reports its use.
	CallModel struct {
		local
		Turn       int      `json:"turn"`
		Attempt    int      `json:"attempt"`
		Kind       TurnKind `json:"kind"`
		MaxOutput  int64    `json:"max_output,omitempty"`
		HoldTokens int64    `json:"hold_tokens,omitempty"`
		HoldCost   int64    `json:"hold_cost,omitempty"`
		// Pins are the open delegations that a compaction must keep, beside role, task and
		// criteria.
		Pins []string `json:"pins,omitempty"`
	}

	// CallSide runs a side turn: a model call on a snapshot of the transcript that adds nothing to
	// it.
	CallSide struct {
		local
		Side     int      `json:"side"`
		Kind     SideKind `json:"kind"`
		Question string   `json:"question,omitempty"`
		Seq      int64    `json:"seq,omitempty"`
		// Questions are the open questions that a message may answer.
		Questions  []string `json:"questions,omitempty"`
		HoldTokens int64    `json:"hold_tokens,omitempty"`
		HoldCost   int64    `json:"hold_cost,omitempty"`
	}

	// AbortModel asks for the model call in flight to be abandoned. ModelFailed or Replied must
	// still come.
	AbortModel struct {
		local
		Turn    int `json:"turn"`
		Attempt int `json:"attempt"`
	}
)

// RunTool runs a call. A leg may do so itself if the call may be run again after a crash.
type RunTool struct {
	Call     string           `json:"call"`
	Tool     string           `json:"tool"`
	Class    chat.EffectClass `json:"class"`
	Hash     string           `json:"hash,omitempty"`
	Approved bool             `json:"approved,omitempty"`
	// Bound is the approved content, and By the call whose approval covers this one, if it is
	// another.
	Bound string `json:"bound,omitempty"`
	By    string `json:"by,omitempty"`
	// Edited means that the arguments are those of the person's decision, not the model's: Hash and
	// Bound are of them.
	Edited bool `json:"edited,omitempty"`
}

// AbortTool asks for a running call to be abandoned. ToolDone must still come.
type AbortTool struct {
	Call  string           `json:"call"`
	Class chat.EffectClass `json:"class"`
}

// The orders that need the engine.
type (
	// StartChild starts an enlisted child. Slots is its share of the slots, Time its time limit.
	StartChild struct {
		engine
		Task  string `json:"task"`
		Agent string `json:"agent"`
		Slots int    `json:"slots"`
		Time  int64  `json:"time"`
		// Background children outlive the turn: the engine must not end them with it.
		Background bool `json:"background,omitempty"`
	}

	// StopChild cancels a child. ChildEnded must still come.
	StopChild struct {
		engine
		Task   string       `json:"task"`
		Reason CancelReason `json:"reason"`
		By     string       `json:"by,omitempty"`
	}

	// KillChild terminates a child whose books are closed.
	KillChild struct {
		engine
		Task string `json:"task"`
	}

	// TellParent says that a person is awaited and nothing runs below, or that work has resumed.
	TellParent struct {
		engine
		Serial int             `json:"serial"`
		Reason chat.WaitReason `json:"reason,omitempty"`
	}

	// Ask brings a question to the orchestrator and records it.
	Ask struct {
		engine
		Question string `json:"question"`
		Call     string `json:"call"`
		Hash     string `json:"hash"`
		Relay    bool   `json:"relay,omitempty"`
		Until    int64  `json:"until"`
	}

	// WithdrawQuestion tells the orchestrator that the answer is no longer awaited.
	WithdrawQuestion struct {
		engine
		Question string `json:"question"`
	}

	// Reply brings an answer to the agent that asked. Its text is where By says: in the answer to
	// the earlier question named Earlier, as corrected, in side turn Side, in call Call, or in the
	// person's message Seq.
	Reply struct {
		engine
		Question string   `json:"question"`
		Agent    string   `json:"agent"`
		By       AnswerBy `json:"by"`
		Earlier  string   `json:"earlier,omitempty"`
		Side     int      `json:"side,omitempty"`
		Call     string   `json:"call,omitempty"`
		Seq      int64    `json:"seq,omitempty"`
		// Taint is the orchestrator's, if the answer is in its words.
		Taint Taint `json:"taint,omitempty"`
	}

	// Correct brings a person's correction of an answer to the agent that got it. If the agent is
	// gone the host delivers Undelivered.
	Correct struct {
		engine
		Question string `json:"question"`
		Agent    string `json:"agent"`
		Seq      int64  `json:"seq"`
	}

	// Grant records the approval of a call's pattern for the whole conversation, so that later
	// calls find it.
	Grant struct {
		record
		Call string `json:"call"`
	}

	// Finish records the outcome and ends the run. For each correction that a sub-agent has not
	// read the host delivers Undelivered to the orchestrator.
	Finish struct {
		engine
		Outcome Outcome `json:"outcome"`
		Unread  []int64 `json:"unread,omitempty"`
	}
)

// TurnKind is the purpose of a model call.
type TurnKind string

// The kinds of model calls in an agent's own transcript.
const (
	// TurnNormal offers all tools.
	TurnNormal TurnKind = "turn"
	// TurnGrace is the last one at a limit: only submit_result and submit_error are offered.
	TurnGrace TurnKind = "grace"
	// TurnCompact summarises the transcript; it is answered by Compacted.
	TurnCompact TurnKind = "compact"
)

// SideKind is the purpose of a side turn.
type SideKind string

// The kinds of side turns.
const (
	SideResolve SideKind = "question_resolution"
	SideRoute   SideKind = "routing"
)

// ApprovalStatus is how an approval ended.
type ApprovalStatus string

// The ends of an approval.
const (
	ApprovalApproved  ApprovalStatus = "approved"
	ApprovalDenied    ApprovalStatus = "denied"
	ApprovalExpired   ApprovalStatus = "expired"
	ApprovalCancelled ApprovalStatus = "cancelled"
)

// NoteKind is the meaning of a line for people.
type NoteKind string

// The notes.
const (
	// NoteForwarded acknowledges that a person's words went to the agent that asked.
	NoteForwarded NoteKind = "forwarded"
	// NoteAutoAnswered says that a question was answered without the person.
	NoteAutoAnswered NoteKind = "auto_answered"
	// NoteKept says that a message was taken as a new request and the question stays open.
	NoteKept NoteKind = "kept_as_request"
	// NoteWhich asks the person which question they mean.
	NoteWhich NoteKind = "which_question"
	// NoteAlreadyAnswered says that another answer came first, NoteClosed that the question ended
	// without one.
	NoteAlreadyAnswered NoteKind = "already_answered"
	NoteClosed          NoteKind = "question_closed"
)

func (RunTool) effect()        {}
func (RunTool) Record() bool   { return false }
func (e RunTool) Local() bool  { return e.Class.Repeatable() }
func (AbortTool) effect()      {}
func (AbortTool) Record() bool { return false }

// Local implements Effect: the leg that runs the call aborts it.
func (e AbortTool) Local() bool { return e.Class.Repeatable() }
