package host

import (
	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/journal"
)

// End is how a tool call ended: the event for the core, and the rows to record with it.
type End struct {
	Event agent.Event
	Rows  []journal.Row
	// Err says why the call could not be carried out.
	Err error
}
