package watch

import (
	"context"

	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// Waiting reads what something that waits is about.
func Waiting(ctx context.Context, log journal.Reader, tenant string, w journal.Waiting) (wire.Waiting, error) {
	ref := journal.Ref{Tenant: tenant, Conversation: w.Conversation}
	entries, err := log.Find(ctx, ref, w.Key, journal.TaskAssigned{In: journal.In{Task: w.Task}}.Key())
	item := wire.Waiting{Conversation: w.Conversation, At: w.At.UTC()}
	for _, e := range entries {
		events.LearnWaiting(&item, w, e)
	}
	return item, err
}
