package wire

import (
	"encoding/json"
	"time"
)

// ToolCallView is a tool call with its input and output.
type ToolCallView struct {
	Call     string          `json:"call"`
	Agent    string          `json:"agent"`
	Tool     string          `json:"tool"`
	Args     string          `json:"args" doc:"The arguments, as JSON text."`
	Status   string          `json:"status,omitempty"`
	Text     string          `json:"text,omitempty" doc:"What the model was given."`
	Whole    string          `json:"whole,omitempty" doc:"The hash under which the whole output is kept, if the text is cut."`
	Reason   string          `json:"reason,omitempty"`
	Facts    json.RawMessage `json:"facts,omitempty"`
	Duration int64           `json:"duration_ms,omitempty"`
}

// ModelCall is one attempt at a model request.
type ModelCall struct {
	Call       string     `json:"call"`
	Seq        int64      `json:"seq"`
	Agent      string     `json:"agent"`
	Task       string     `json:"task"`
	Type       string     `json:"type"`
	Turn       int        `json:"turn,omitempty"`
	Attempt    int        `json:"attempt,omitempty"`
	Model      string     `json:"model,omitempty"`
	Prompt     string     `json:"prompt,omitempty" doc:"The hash under which the system prompt is kept."`
	Status     string     `json:"status" enum:"queued,pending,running,waiting,completed,failed,cancelled,timed_out"`
	Kind       string     `json:"error_kind,omitempty"`
	Usage      Usage      `json:"usage"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// ModelCallView is a model call with its request and its reply.
type ModelCallView struct {
	ModelCall
	Request  ModelRequest `json:"request"`
	Reply    []Part       `json:"reply" doc:"What the model said; empty until it did."`
	Stop     string       `json:"stop,omitempty" doc:"Why the reply ended."`
	Message  string       `json:"message,omitempty" doc:"Why the call failed."`
	Provider string       `json:"provider_id,omitempty" doc:"The provider's own name for the exchange."`
	First    int64        `json:"first_token_ms,omitempty"`
	Waited   int64        `json:"waited_ms,omitempty" doc:"How long it waited for its turn with the provider."`
	Duration int64        `json:"duration_ms,omitempty"`
	Retry    int64        `json:"retry_after_ms,omitempty" doc:"How long the provider asked to be left alone."`
	Tries    []Try        `json:"tries,omitempty" doc:"The sendings of the same call before the last one."`
	// Unmetered means that more may have been used than is known.
	Unmetered bool `json:"unmetered,omitempty" doc:"Whether more may have been used than is known."`
}

// ModelRequest is the recorded part of a request to a model. It lacks the descriptions of tools,
// and the text that a side question added at the end.
type ModelRequest struct {
	System        string    `json:"system,omitempty" doc:"The system prompt, whole."`
	Messages      []Message `json:"messages" doc:"The agent's transcript up to then, from where it was last shortened; the last 200."`
	Earlier       bool      `json:"earlier,omitempty" doc:"Whether there are messages before these; the agent's messages have them."`
	Tools         []string  `json:"tools" doc:"The tools that the agent was given beside those of every agent."`
	Effort        string    `json:"effort,omitempty"`
	Temperature   *float64  `json:"temperature,omitempty"`
	MaxOutput     int64     `json:"max_output,omitempty" doc:"The most tokens that a reply may have."`
	ContextTokens int64     `json:"context_tokens,omitempty" doc:"About how many tokens were sent."`
}

// ToolCall is one use of a tool.
type ToolCall struct {
	Call       string     `json:"call"`
	Seq        int64      `json:"seq"`
	Agent      string     `json:"agent"`
	Task       string     `json:"task"`
	Tool       string     `json:"tool"`
	Turn       int        `json:"turn"`
	Status     string     `json:"status" enum:"pending,waiting_approval,running,completed,failed,denied,cancelled,timed_out,skipped,indeterminate"`
	Attempt    int        `json:"attempt,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Duration   int64      `json:"duration_ms,omitempty"`
}
