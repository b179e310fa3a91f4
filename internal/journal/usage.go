package journal

import (
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// UsageBy is what usage is grouped by.
type UsageBy string

// The groups. A turn is named AGENT#TURN.
const (
	UsageByConversation UsageBy = "conversation"
	UsageByAgent        UsageBy = "agent"
	UsageByRole         UsageBy = "role"
	UsageByModel        UsageBy = "model"
	UsageByTurn         UsageBy = "turn"
)

// UsageQuery asks what was used by model calls that began at Since or later and before Until, in
// one conversation or, if it names none, in all of the tenant's. Zero times set no bound.
type UsageQuery struct {
	Conversation string
	By           UsageBy
	Since, Until time.Time
}

// Span is the query's times with bounds that every store knows.
func (q UsageQuery) Span() (since, until time.Time) {
	since, until = q.Since, q.Until
	if since.IsZero() {
		since = time.UnixMilli(0)
	}
	if until.IsZero() {
		until = time.UnixMilli(1 << 47)
	}
	return since.UTC(), until.UTC()
}

// Used is what the model calls of one group used.
type Used struct {
	Name  string
	Calls int64
	Usage chat.Usage
}
