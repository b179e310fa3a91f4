package agent

import "github.com/retinue-dev/retinue/internal/chat"

// CallKind is what a model's call asks for: most ask for a tool, the others ask the core.
type CallKind string

// The kinds of calls.
const (
	CallTool        CallKind = ""
	CallSpawn       CallKind = "spawn"
	CallResume      CallKind = "resume"
	CallSubmit      CallKind = "submit"
	CallSubmitError CallKind = "submit_error"
	CallAsk         CallKind = "ask"
	CallReply       CallKind = "reply"
)

// submits reports whether the call would end the run.
func (k CallKind) submits() bool { return k == CallSubmit || k == CallSubmitError }

// alone reports whether a call of this kind must be the only one of its reply.
func (k CallKind) alone() bool { return k.submits() || k == CallAsk }

// spawns reports whether the call starts children.
func (k CallKind) spawns() bool { return k == CallSpawn || k == CallResume }

// Policy is the verdict of the configured rules on a call before any person is asked.
type Policy string

// The verdicts. A person is asked about a call without one if it writes or reaches the network.
const (
	PolicyUnset Policy = ""
	PolicyAllow Policy = "allow"
	PolicyAsk   Policy = "ask"
	PolicyDeny  Policy = "deny"
)

// Call describes one tool_use to the core: all it needs to decide, nothing of the content. Digest
// makes it from the arguments, and the host adds what only it can know.
type Call struct {
	Tool string   `json:"tool"`
	Kind CallKind `json:"kind,omitempty"`
	// Hash identifies tool and canonical arguments. For a question it identifies the normalised
	// question.
	Hash string `json:"hash,omitempty"`
	// Problem says why the arguments cannot be used: not JSON, cut off, against the schema.
	Problem string `json:"problem,omitempty"`

	// Known, Class, Writes and Network come from the tool's own metadata.
	Known   bool             `json:"known,omitempty"`
	Class   chat.EffectClass `json:"class,omitempty"`
	Writes  bool             `json:"writes,omitempty"`
	Network bool             `json:"network,omitempty"`
	Policy  Policy           `json:"policy,omitempty"`
	// Pattern is the scope of an approval wider than this one call, exactly as the person sees it.
	Pattern string `json:"pattern,omitempty"`

	// Bound is the content that a person's decision is bound to, if one is asked.
	Bound string `json:"bound,omitempty"`
	// Sink means that the operator listed the call: the rules apply to it also when the agent is
	// tainted.
	Sink bool `json:"sink,omitempty"`

	Items      []Item `json:"items,omitempty"`
	Question   string `json:"question,omitempty"`
	Confidence int    `json:"confidence,omitempty"`
	// Contradicted counts the claims of a submit call that the facts contradict. The host looks only
	// if the brief asks for evidence.
	Contradicted int `json:"contradicted,omitempty"`
	// Typed means that a submit call holds only data that fits the role's closed schema, no free text.
	Typed bool `json:"typed,omitempty"`
}

// Item is one task of a spawn call.
type Item struct {
	Role string `json:"role"`
	// Hash identifies role, task, criteria, files and working directory.
	Hash       string `json:"hash,omitempty"`
	Blank      bool   `json:"blank,omitempty"`
	Background bool   `json:"background,omitempty"`
	// Tokens estimates the first message that the child will get.
	Tokens     int64 `json:"tokens,omitempty"`
	Iterations int   `json:"iterations,omitempty"`
	// Agent is the finished agent that a resume call names.
	Agent string `json:"agent,omitempty"`
	// Isolation is the call's choice; empty leaves it to the role.
	Isolation Isolation `json:"isolation,omitempty"`
	// Problem is the fault that the host found: a missing file, a directory outside the workspace,
	// an unknown model, an agent that cannot be resumed.
	Problem string `json:"problem,omitempty"`
	// Taint is that of a resumed agent, which still knows the texts that it has read.
	Taint Taint `json:"taint,omitempty"`
}

// CallStatus is where a call of the open round stands, and how a settled one ended.
type CallStatus string

// The statuses of an open call.
const (
	// CallQueued waits for earlier calls of its round.
	CallQueued CallStatus = "queued"
	// CallWants waits for a person's approval.
	CallWants CallStatus = "waiting_approval"
	// CallRunning is with a tool.
	CallRunning CallStatus = "running"
	// CallSpawned waits for children.
	CallSpawned CallStatus = "spawned"
	// CallAsking waits for an answer.
	CallAsking CallStatus = "asking"
)

// The statuses of a settled call.
const (
	CallCompleted CallStatus = "completed"
	CallFailed    CallStatus = "failed"
	CallDenied    CallStatus = "denied"
	CallCancelled CallStatus = "cancelled"
	CallTimedOut  CallStatus = "timed_out"
	CallSkipped   CallStatus = "skipped"
)

// Settled reports whether a call with this status has its one result.
func (s CallStatus) Settled() bool {
	switch s {
	case CallCompleted, CallFailed, CallDenied, CallCancelled, CallTimedOut, CallSkipped:
		return true
	case CallQueued, CallWants, CallRunning, CallSpawned, CallAsking:
		return false
	}
	return false
}

// Round is one reply of the model with all its calls. It is closed, and its results go into the
// transcript in one message, when every call has exactly one result.
type Round struct {
	Turn int `json:"turn"`
	// Total counts all calls of the reply; those beyond the limit are refused and not kept in
	// Calls.
	Total int        `json:"total"`
	Calls []OpenCall `json:"calls,omitempty"`
	// Notes are added after the results.
	Notes []string `json:"notes,omitempty"`
	// Waited is the longest that a call of the round stood in a queue of ours.
	Waited int64 `json:"waited,omitempty"`
}

// OpenCall is a call of the open round.
type OpenCall struct {
	ID     string           `json:"id"`
	Tool   string           `json:"t"`
	Kind   CallKind         `json:"k,omitempty"`
	Status CallStatus       `json:"s"`
	Class  chat.EffectClass `json:"c,omitempty"`
	Writes bool             `json:"w,omitempty"`
	Hash   string           `json:"h,omitempty"`
	// Network and Sink are the call's.
	Network bool `json:"nw,omitempty"`
	Sink    bool `json:"sk,omitempty"`
	// Pattern is the key of the pattern that a wider approval would cover.
	Pattern string `json:"p,omitempty"`
	// A person's decision is bound to Bound, or to Hash for a call without one.
	Bound string `json:"b,omitempty"`
	// Approved means that a person said yes, to this call or, if By names another, to all like that
	// one.
	Approved bool   `json:"y,omitempty"`
	By       string `json:"by,omitempty"`
	// Cover is set if the approval was given for another call.
	Cover Cover `json:"co,omitempty"`
	// Shown is the call as the person saw it before they changed its arguments: Hash and Bound are
	// of the new ones.
	Shown string `json:"sh,omitempty"`
	// Until is when the approval or the question expires.
	Until int64 `json:"u,omitempty"`
	// Tasks are the children of a spawn call in the order of its items, Wait those it still waits
	// for.
	Tasks []string `json:"kids,omitempty"`
	Wait  []string `json:"wait,omitempty"`
}

// edited reports whether a person gave the call other arguments.
func (c *OpenCall) edited() bool { return c.Shown != "" }

// settled reports whether every call of the round has its result.
func (r *Round) settled() bool {
	for i := range r.Calls {
		if !r.Calls[i].Status.Settled() {
			return false
		}
	}
	return true
}

// find returns the open call with this id, or nil.
func (r *Round) find(id string) *OpenCall {
	if r == nil {
		return nil
	}
	for i := range r.Calls {
		if r.Calls[i].ID == id {
			return &r.Calls[i]
		}
	}
	return nil
}
