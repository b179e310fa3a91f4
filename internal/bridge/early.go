package bridge

import (
	"context"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

// early is a bus whose first reader has listened since before anybody asked for one.
type early struct {
	live.Bus
	reader *live.Reader
}

// Subscribe implements live.Bus.
func (e *early) Subscribe(ctx context.Context, topic live.Topic) (*live.Reader, error) {
	if r := e.reader; r != nil {
		e.reader = nil
		return r, nil
	}
	return e.Bus.Subscribe(ctx, topic)
}

// listen begins to hear a conversation, until ctx ends. It comes before a command: of a reply whose
// first delta is missed, nothing can be told until it is on record. A bus that has no reader for it
// is asked again by whoever watches.
func (h *Hall) listen(ctx context.Context, place journal.Place) *live.Reader {
	r, err := h.Bus.Subscribe(ctx, live.Topic(place))
	if err != nil {
		return nil
	}
	context.AfterFunc(ctx, r.Close)
	return r
}

// listen keeps what is heard from now on for Watch.
func (x *Errand) listen(ctx context.Context) {
	if x.reader == nil {
		x.reader = x.hall.listen(ctx, x.place)
	}
}

// heard is where Watch goes on hearing.
func (x *Errand) heard() live.Bus {
	bus := &early{Bus: x.hall.Bus, reader: x.reader}
	x.reader = nil
	return bus
}

// unhear drops what was heard and not told. What comes later is heard by Watch.
func (x *Errand) unhear() {
	if x.reader != nil {
		x.reader.Close()
		x.reader = nil
	}
}
