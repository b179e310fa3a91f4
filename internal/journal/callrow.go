package journal

import (
	"encoding/json"

	"github.com/retinue-dev/retinue/internal/chat"
)

// The rows about model calls and tool calls.
type (
	// ModelCalled opens a model call before the request is sent, with the most that it may use.
	ModelCalled struct {
		In
		// Call is unique among the model calls of a task.
		Call    string      `json:"call"`
		Type    RequestType `json:"type"`
		Turn    int         `json:"turn,omitempty"`
		Attempt int         `json:"attempt,omitempty"`
		Model   string      `json:"model,omitempty"`
		// Prompt is the hash of the kept system prompt.
		Prompt        string `json:"prompt,omitempty"`
		ContextTokens int64  `json:"context_tokens,omitempty"`
		HoldTokens    int64  `json:"hold_tokens,omitempty"`
		HoldCost      int64  `json:"hold_cost,omitempty"`
	}

	// ModelReplied ends a model call and records its usage.
	ModelReplied struct {
		In
		Call      string         `json:"call"`
		Status    chat.Status    `json:"status"`
		ErrorKind chat.ErrorKind `json:"error_kind,omitempty"`
		Message   string         `json:"message,omitempty"`
		Stop      string         `json:"stop,omitempty"`
		// Model and Provider are who answered, and the provider's name for the exchange.
		Model    string     `json:"model,omitempty"`
		Provider string     `json:"provider,omitempty"`
		Usage    chat.Usage `json:"usage"`
		// Unmetered means that more may have been used than is known: the hold stays.
		Unmetered bool `json:"unmetered,omitempty"`
		// Month and Reserved are the call's reservation from the tenant's budget. It is settled
		// with the real use.
		Month    string `json:"month,omitempty"`
		Reserved int64  `json:"reserved,omitempty"`
		Prices   string `json:"prices,omitempty"`
		// First, Waited and Duration are in milliseconds, as is RetryAfter: how long the provider asked to
		// be left alone.
		First      int64 `json:"first,omitempty"`
		Waited     int64 `json:"waited,omitempty"`
		Duration   int64 `json:"duration,omitempty"`
		RetryAfter int64 `json:"retry_after,omitempty"`
		// Tries are the sendings of the same call before the last one.
		Tries []Try `json:"tries,omitempty"`
		// Parts holds the reply of a call that adds nothing to a transcript.
		Parts []chat.Part `json:"parts,omitempty"`
	}

	// ToolStarted says that a worker begins a tool call. It is written before a call that must not
	// happen twice.
	ToolStarted struct {
		In
		Call    string `json:"call"`
		Attempt int    `json:"attempt,omitempty"`
		Worker  string `json:"worker,omitempty"`
		Class   string `json:"class,omitempty"`
	}

	// HostReached says that a tool call opens a connection to a host. It is written before the first
	// one.
	HostReached struct {
		In
		Call string `json:"call"`
		Host string `json:"host"`
		Port int    `json:"port"`
	}

	// Tainted says that an agent has read a text that a stranger may have written. The first one of
	// an agent stands for good: from then on a person decides about the agent's writes and
	// requests. The worker that writes such a text into the agent's transcript writes this beside
	// it.
	Tainted struct {
		In
		// Call is the call whose result it was, if it was one.
		Call    string   `json:"call,omitempty"`
		Sources []Source `json:"sources"`
	}

	// ToolReturned is the one result of a tool call.
	ToolReturned struct {
		In
		Call   string     `json:"call"`
		Status CallStatus `json:"status"`
		Text   string     `json:"text,omitempty"`
		// Images are the hashes of kept data URLs, which the model is shown after the text.
		Images []string `json:"images,omitempty"`
		// Whole is the hash of the kept text that Text is the head and the tail of.
		Whole string `json:"whole,omitempty"`
		// Reason is why a call was not carried out that could have been: one of the core's.
		Reason string `json:"reason,omitempty"`
		// Facts are the known effects of the tool.
		Facts    json.RawMessage `json:"facts,omitempty"`
		Duration int64           `json:"duration,omitempty"`
	}
)

// Try is a failed sending of a model call: the model, if one had been chosen, and the kind of
// error.
type Try struct {
	Model string         `json:"model,omitempty"`
	Kind  chat.ErrorKind `json:"kind"`
}

// Source is a place that strangers write to. Kind is web, mcp, file, agent or more; Name a host, a
// server, a path or an agent.
type Source struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

// RequestType is what a model call is for.
type RequestType string

// The request types.
const (
	RequestPrompt       RequestType = "prompt"
	RequestContinuation RequestType = "continuation"
	RequestDelegation   RequestType = "delegation"
	RequestResolution   RequestType = "question_resolution"
	RequestRouting      RequestType = "routing"
	RequestCompaction   RequestType = "compaction"
	RequestTitle        RequestType = "title"
)

// CallStatus is the state of a tool call.
type CallStatus string

// The states of a tool call.
const (
	CallPending       CallStatus = "pending"
	CallWaiting       CallStatus = "waiting_approval"
	CallRunning       CallStatus = "running"
	CallCompleted     CallStatus = "completed"
	CallFailed        CallStatus = "failed"
	CallDenied        CallStatus = "denied"
	CallCancelled     CallStatus = "cancelled"
	CallTimedOut      CallStatus = "timed_out"
	CallSkipped       CallStatus = "skipped"
	CallIndeterminate CallStatus = "indeterminate"
)
