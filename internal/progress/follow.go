package progress

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/wire"
)

// pageSize is how many entries are read at a time.
const pageSize = 500

// Update is news of a conversation.
type Update struct {
	Events []wire.Event
	// Seq is the last entry that was read for them, an event or not; zero in an update without entries.
	Seq int64
	// Draft is what the orchestrator has written of its next message so far, Message that message's id.
	Draft   string
	Message string
	// Err says why the journal could not be read just now. The follower keeps reading.
	Err error
}

// Follow sends what is recorded in a conversation after a sequence number until ctx ends, and
// drafts of the orchestrator's replies where the bus brings them. The journal is the truth: it is
// read at each notice of the bus, and once in a poll without one.
func Follow(
	ctx context.Context, log journal.Reader, bus live.Bus, ref journal.Ref, after int64, poll time.Duration,
) <-chan Update {
	f := &follower{log: log, bus: bus, ref: ref, after: after, poll: poll, out: make(chan Update)}
	go f.run(ctx)
	return f.out
}

type follower struct {
	log   journal.Reader
	bus   live.Bus
	ref   journal.Ref
	after int64
	poll  time.Duration
	out   chan Update

	writing Writing
}

func (f *follower) run(ctx context.Context) {
	defer close(f.out)
	poll := time.NewTicker(f.poll)
	defer poll.Stop()
	for ctx.Err() == nil {
		reader, err := f.bus.Subscribe(ctx, live.Topic(f.ref))
		if err != nil {
			f.send(ctx, Update{Err: err})
			reader = nil
		}
		f.read(ctx, reader, poll.C)
		if reader != nil {
			reader.Close()
		}
	}
}

// read follows until ctx or the reader ends.
func (f *follower) read(ctx context.Context, reader *live.Reader, poll <-chan time.Time) {
	var notices <-chan live.Notice
	if reader != nil {
		notices = reader.Notices()
	}
	f.catchUp(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll:
			f.catchUp(ctx)
			if reader == nil {
				return
			}
		case notice, ok := <-notices:
			if !ok {
				return
			}
			f.notice(ctx, notice)
		}
	}
}

func (f *follower) notice(ctx context.Context, notice live.Notice) {
	switch n := notice.(type) {
	case live.Appended:
		if n.Seq > f.after {
			f.catchUp(ctx)
		}
	case live.Resync:
		f.catchUp(ctx)
	case live.Delta:
		if u, ok := f.writing.Add(n); ok {
			f.send(ctx, u)
		}
	}
}

// catchUp reads all that is recorded.
func (f *follower) catchUp(ctx context.Context) {
	for ctx.Err() == nil {
		entries, err := f.log.Entries(ctx, f.ref, f.after, pageSize)
		if err != nil {
			if ctx.Err() == nil {
				f.send(ctx, Update{Err: err})
			}
			return
		}
		if len(entries) == 0 {
			return
		}
		f.after = entries[len(entries)-1].Seq
		u := Update{Seq: f.after}
		for _, entry := range entries {
			if e, ok := events.Of(f.ref.Conversation, entry); ok {
				u.Events = append(u.Events, e)
			}
		}
		f.send(ctx, u)
	}
}

func (f *follower) send(ctx context.Context, u Update) {
	select {
	case f.out <- u:
	case <-ctx.Done():
	}
}
