// Package model is the port to language models: requests, replies and errors. It speaks chat's
// vocabulary; adapters below it speak the providers' wires.
//
// A call has exactly one end: a complete Reply or one *Error. A stream that stops before the
// provider said that it is complete is an error, never a short reply. Adapters send a request once:
// the code that decides to send it again sits above them.
//
// An Exchange holds the common part of all wires: adapters check a request, begin an exchange, send
// through it, pass it the events of the stream, and return its result.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Client talks to one provider under one key.
type Client interface {
	// Generate sends one request and returns its one end. While the reply comes in, told hears its
	// deltas in order; it may be nil. Deltas of a call that ends in an error count for nothing.
	Generate(ctx context.Context, req Request, told func(Delta)) (Reply, error)
}

// Request is everything a provider is sent.
type Request struct {
	// Model is the provider's own name of the model.
	Model string
	// System holds the instructions, what changes least first, so that a provider's cache of
	// prefixes is of use.
	System []Instruction
	// Tools are sent in this order; callers sort them by name, for the cache again.
	Tools      []Tool
	Transcript chat.Transcript
	// Turn names the calls of the reply: Turn.0, Turn.1 and so on, whatever ids the provider chose.
	Turn      int
	MaxOutput int64
	// Temperature is left to the provider when nil, Effort when empty.
	Temperature *float64
	Effort      Effort
	// Images holds what the transcript's image parts refer to.
	Images map[string]Image
	// Idle is how long the provider may send nothing, and four times that how long nothing of use;
	// zero means DefaultIdle.
	Idle time.Duration
	// Caller is on whose behalf the request is made. Providers are not told.
	Caller Caller
	// Before is a provider's count of its beginning, nil if it was not counted, and Budget pays for
	// it, nil if it has no limit. Neither is sent.
	Before *Counted
	Budget Budget
}

// Caller is on whose behalf a request is made.
type Caller struct {
	Tenant       string
	Conversation string
	Agent        string
	// Background means that no person sits and waits for the reply.
	Background bool
}

// DefaultIdle is how long a provider may send nothing before a call is given up.
const DefaultIdle = 90 * time.Second

// Instruction is one stretch of the system prompt.
type Instruction struct {
	Text string
	// Cache marks the end of what stays the same from call to call.
	Cache bool
}

// Tool describes one tool to the model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Image is the content of an image part.
type Image struct {
	MediaType string
	Data      []byte
}

// Effort is how hard a model should think.
type Effort string

// The efforts. The empty one leaves it to the provider.
const (
	EffortNone   Effort = "none"
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
)

// Delta is a piece of a reply on its way.
type Delta struct {
	// Part is the index of the part in the reply, and Kind its kind. A provider that sends its
	// parts out of order makes the index one of arrival.
	Part int           `json:"part"`
	Kind chat.PartKind `json:"kind"`
	// Tool is set with the first delta of a tool_use.
	Tool string `json:"tool,omitempty"`
	Text string `json:"text,omitempty"`
	// Attempt counts, from zero, how often the reply was begun again within one call. A delta with
	// a higher one replaces all earlier deltas.
	Attempt int `json:"attempt,omitempty"`
}

// Reply is a complete answer of a model.
type Reply struct {
	// Parts may be empty, or nothing but thinking: an empty reply is complete too, and its usage is
	// real. It is not fit for a transcript; the core decides how to treat it.
	Parts []chat.Part
	// Malformed names calls whose arguments were not a JSON object, or were cut off. They must be
	// answered with an error and never run; their parts hold the received text as {"malformed":
	// "text"}.
	Malformed []string
	Stop      Stop
	// Usage has the tokens as the provider counted them; the code that knows prices adds the cost.
	Usage chat.Usage
	// Estimated means that the provider's count was missing or impossible, and Usage is our own,
	// rounded up.
	Estimated bool
	// Model is the model that answered, according to the provider, and ID the provider's name for
	// the exchange. Name is the provider and the model that a Router chose, if one did.
	Model string
	ID    string
	Name  string
	// First is the time to the first delta.
	First time.Duration
	// Waited is how long the request stood in a queue of ours, and Tries are the sendings that
	// failed before this one. Usage does not include theirs.
	Waited time.Duration
	Tries  []Try
}

// Try is one sending of a request that gave no usable reply and was followed by another.
type Try struct {
	// Name is the provider and the model, where a Router chose them.
	Name      string
	Kind      chat.ErrorKind
	Usage     chat.Usage
	Unmetered bool
}

// Stop is why a model stopped talking.
type Stop string

// The stop reasons.
const (
	StopEnd       Stop = "end"
	StopTools     Stop = "tools"
	StopMaxTokens Stop = "max_tokens"
	StopRefusal   Stop = "refusal"
)

// Error is the end of a call that gave no usable reply.
type Error struct {
	Kind chat.ErrorKind
	// Message says what happened and what to do next. It holds no content and no secret.
	Message string
	// Status is the HTTP status, zero when there was none.
	Status int
	// RetryAfter is how long the provider asked us to wait.
	RetryAfter time.Duration
	// Usage is the known use before the failure, and Unmetered means that the provider may have
	// billed more.
	Usage     chat.Usage
	Unmetered bool
	// Waited is how long the request stood in a queue of ours, and Tries are the other sendings of
	// the same call. Usage does not include theirs.
	Waited time.Duration
	Tries  []Try
	Cause  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("model: %s: %s", e.Kind, e.Message) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }
