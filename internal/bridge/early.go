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

// listen begins to hear a conversation, until ctx ends. It is called before a command: if the first
// delta of a reply is missed, the reply can be shown only once it is on record. If the bus has no
// reader for it, the watcher asks again.
func (h *Service) listen(ctx context.Context, ref journal.Ref) *live.Reader {
	r, err := h.Bus.Subscribe(ctx, live.Topic(ref))
	if err != nil {
		return nil
	}
	context.AfterFunc(ctx, r.Close)
	return r
}

// listen keeps the notices from now on for Watch.
func (x *UserTurn) listen(ctx context.Context) {
	if x.reader == nil {
		x.reader = x.service.listen(ctx, x.ref)
	}
}

// heard is the position from which Watch continues.
func (x *UserTurn) heard() live.Bus {
	bus := &early{Bus: x.service.Bus, reader: x.reader}
	x.reader = nil
	return bus
}

// unhear drops notices that were heard and not told. Watch hears the later ones.
func (x *UserTurn) unhear() {
	if x.reader != nil {
		x.reader.Close()
		x.reader = nil
	}
}
