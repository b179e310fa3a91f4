// Package tool is the port to tools: their definitions for the model, their properties that the
// core must know before a call runs, and their results.
//
// It imports only chat. A Set checks arguments before a tool sees them, bounds time and output, and
// turns a panic into a failed result: no tool can end its worker.
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

// Definition describes a tool before it runs.
type Definition struct {
	Name string
	// Aliases are other names that a model's call may use. They are not offered.
	Aliases []string
	// Description is the text for the model.
	Description string
	// Schema is the JSON Schema of the arguments, of type object.
	Schema json.RawMessage
	// Synonyms are arguments as other programs call them, each with our name for it, or with none if
	// it is of no use here. Models that learned those succeed; the schema does not offer them.
	Synonyms map[string]string
	Class    chat.EffectClass
	// Writes and Network say what authority a call takes. A call that neither writes nor reaches the
	// network needs no approval.
	Writes  bool
	Network bool
	// Unconfined means that a call can reach the network although it takes no authority for it, because
	// nothing keeps it from there.
	Unconfined bool
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
	// Seen is the hash of a file, under any of these paths, as the caller last read or wrote it
	// before this call; empty if it never did. Nil means that reads are not tracked.
	Seen func(paths ...string) (hash string, err error)
	// Patch finds the patch of an agent below the caller. Nil means that patches are not kept.
	Patch func(agent string) (Patch, error)
	// Name is the call's name by which the model can read its whole output later; empty if that is
	// not kept. Output finds the whole output of an earlier call by name.
	Name   string
	Output func(name string) (string, error)
	// May reports whether the call may continue to a target that the tool meets on its way, such as
	// the page that another redirects to. It allows no more than rules and people allowed the call
	// itself. Nil means that there are no rules.
	May func(met About) (bool, error)
	// Reach is called with a host before the first connection to it is opened. An error prevents
	// the connection. Nil means that hosts are not recorded.
	Reach func(ctx context.Context, host string, port uint16) error
}

// Patch is the changes of an agent in a tree of its own.
type Patch struct {
	// Tree names the tree, for code that knows its origin.
	Tree string
	// Text is as git writes it; Files are the paths in it.
	Text  string
	Files []string
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

// Result is the result of a call.
type Result struct {
	// Text is what the model will read: never empty, valid UTF-8 without NUL, within the cap.
	Text string
	// End is set by Set.Run, unless the tool did.
	End End
	// Facts are the effects of the call as the tool saw them, independent of any model.
	Facts Facts
	// Whole is the text before the cap shortened it, for the host to keep; empty if it did not.
	Whole string
	// Images are what the model will look at, after the text.
	Images []Image
}

// Image is a picture that a model can look at.
type Image struct {
	// Type is image/png, image/jpeg, image/gif or image/webp.
	Type string
	Data []byte
}

// imageTokens is the largest size of one image: providers scale down larger ones.
const imageTokens = 1600

// Tokens estimates, on the large side, the size of the result in a context window.
func (r Result) Tokens() int64 {
	return int64(len(r.Text)+2)/3 + imageTokens*int64(len(r.Images))
}

// Refuse makes the error of a call that cannot be carried out as asked; the model reads the text.
func Refuse(format string, args ...any) error {
	return &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}
