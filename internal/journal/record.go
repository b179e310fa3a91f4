package journal

import (
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Record is a model call or a delegation with everything about it in one flat line, for reports
// and for rebuilding what happened. Delegations carry no tokens of their own, so that sums over
// records count nothing twice.
type Record struct {
	ID      int64
	Session string
	// Parent is, for a delegation, the model call that asked for it; for a model call, the
	// delegation that it is a part of. Zero means that there is none.
	Parent      int64
	StartedAt   time.Time
	CompletedAt time.Time
	Duration    int64

	Role   string
	Depth  int
	Model  string
	Prompt string

	RequestType   RequestType
	Request       string
	ContextMode   string
	ContextTokens int64

	Response  string
	Summary   string
	ToolCalls []chat.Part
	Files     []string

	PromptTokens     int64
	CompletionTokens int64
	Iterations       int

	MaxIterations int
	MaxDuration   int64
	Bailout       string

	Status  chat.Status
	Error   string
	Details map[string]any
}

// TotalTokens is what the call is charged with.
func (r Record) TotalTokens() int64 { return r.PromptTokens + r.CompletionTokens }
