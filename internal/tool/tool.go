// Package tool is the port to tools: what a model is told of them, what the core must know of them
// before one runs, and what comes back.
//
// It imports only chat. A Set checks arguments before a tool sees them, bounds time and output, and
// turns a panic into a failed result: whatever a tool does, the worker that runs it lives on.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Tool does one kind of thing for a model.
type Tool interface {
	// Definition never changes while the program runs.
	Definition() Definition
	// Run carries out a call whose arguments fit the schema. It returns soon after ctx ends. A
	// *chat.Error is told to the model as it is.
	Run(ctx context.Context, call Call) (Result, error)
}

// Definition is what is known of a tool before it runs.
type Definition struct {
	Name string
	// Aliases are other names that a model's call may use. They are not offered.
	Aliases []string
	// Description is what the model is told.
	Description string
	// Schema is the JSON Schema of the arguments, of type object.
	Schema json.RawMessage
	Class  chat.EffectClass
	// Writes and Network say what authority a call takes. What neither writes nor reaches the
	// network needs no approval.
	Writes  bool
	Network bool
	// Timeout is how long one call may take; zero means DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is how long a call may take when its tool does not say.
const DefaultTimeout = 30 * time.Second

// Call is a model's request to use a tool.
type Call struct {
	// ID is ours, the same whenever the call is run again.
	ID   string
	Tool string
	Args json.RawMessage
}

// Decode reads the arguments of a call into a struct.
func (c Call) Decode(into any) error {
	if err := json.Unmarshal(c.Args, into); err != nil {
		return Refuse("the arguments of %s cannot be read: %v", c.Tool, err)
	}
	return nil
}

// End is how a call ended.
type End string

// The ends. A call whose context ended has none: Set.Run returns an error instead.
const (
	EndOK       End = "ok"
	EndFailed   End = "failed"
	EndTimedOut End = "timed_out"
)

// Result is what a call gave.
type Result struct {
	// Text is what the model will read: never empty, valid UTF-8 without NUL, within the cap.
	Text string
	// End is set by Set.Run.
	End End
	// Read lists the files that the text rests on, for receipts.
	Read []File
	// Whole is where the spill keeps the text if the cap has shortened it.
	Whole string
}

// Tokens estimates, on the large side, what the result takes of a context window.
func (r Result) Tokens() int64 { return int64(len(r.Text)+2) / 3 }

// File is a fact about a file: its path in the workspace and what it held.
type File struct {
	Path string `json:"path"`
	// Hash is the SHA-256 of the whole content, in hexadecimal.
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// Refuse makes the error of a call that cannot be carried out as asked; the model reads the text.
func Refuse(format string, args ...any) error {
	return &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}
