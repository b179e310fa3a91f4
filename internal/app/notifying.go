package app

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

// notifyingLog is a log that notifies its readers of every append.
type notifyingLog struct {
	journal.Log
	bus      live.Bus
	pressure *pressure
}

// Append implements journal.Writer.
func (l notifyingLog) Append(ctx context.Context, ref journal.Ref, at time.Time, rows ...journal.Row) ([]journal.Written, error) {
	end := l.pressure.begin(ref.Tenant)
	written, err := l.Log.Append(ctx, ref, at, rows...)
	end(err)
	last := int64(0)
	for _, w := range written {
		if !w.Existed {
			last = max(last, w.Seq)
		}
	}
	if last > 0 {
		l.bus.Announce(live.Appended{Topic: live.Topic(ref), Seq: last})
	}
	return written, err
}

// Erase implements journal.Writer. Its readers are notified, and find the conversation gone.
func (l notifyingLog) Erase(ctx context.Context, ref journal.Ref) error {
	err := l.Log.Erase(ctx, ref)
	l.bus.Announce(live.Appended{Topic: live.Topic(ref)})
	return err
}
