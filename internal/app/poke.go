package app

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

// poking is a log whose readers are told of every append.
type poking struct {
	journal.Log
	bus      live.Bus
	pressure *pressure
}

// Append implements journal.Writer.
func (l poking) Append(ctx context.Context, place journal.Place, at time.Time, rows ...journal.Row) ([]journal.Written, error) {
	end := l.pressure.begin(place.Tenant)
	written, err := l.Log.Append(ctx, place, at, rows...)
	end(err)
	last := int64(0)
	for _, w := range written {
		if !w.Existed {
			last = max(last, w.Seq)
		}
	}
	if last > 0 {
		l.bus.Poke(live.Poke{Topic: live.Topic(place), Seq: last})
	}
	return written, err
}

// Erase implements journal.Writer. Who watches looks, and finds nothing.
func (l poking) Erase(ctx context.Context, place journal.Place) error {
	err := l.Log.Erase(ctx, place)
	l.bus.Poke(live.Poke{Topic: live.Topic(place)})
	return err
}
