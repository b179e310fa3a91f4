package leg

import (
	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// taint records that an agent has read a stranger's text. Its core learns of it with the model's
// next reply, or never, if an intruder changed the engine's messages.
func (tr *trial) taint(to *tour) {
	_, err := tr.h.Log.Append(tr.Context(), to.in.Ref, tr.h.Now(),
		host.Tainted(to.in.In(), "", agent.Taint{{Kind: agent.SourceWeb, Name: "example.com"}})...)
	tr.must(err)
	tr.o.tainted[to.id("")] = true
	tr.counts["tainted"]++
}

// forget has an intruder in the engine make an agent's core forget its taint.
func (tr *trial) forget(to *tour) {
	if len(to.position.State.Taint) > 0 {
		to.position.State.Taint = nil
		tr.counts["taint forgotten"]++
	}
}

// offers is the pattern that a person was shown with a call.
func (tr *trial) offers(to *tour, call string) string {
	entries, err := tr.h.Log.Find(tr.Context(), to.in.Ref, journal.ApprovalRequested{In: to.in.In(), Call: call}.Key())
	tr.must(err)
	if len(entries) == 0 {
		return ""
	}
	row, _ := entries[0].Row.(journal.ApprovalRequested)
	if aware := len(to.position.State.Taint) > 0; aware != (len(row.Sources) > 0) || aware && row.Pattern != "" {
		tr.Errorf("%s was asked about as %+v, and its agent has read %v", to.id(call), row, to.position.State.Taint)
	}
	return row.Pattern
}
