package remote

import (
	"context"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// News sends what is recorded in a conversation after an entry until ctx ends, each event once
// and in order, and drafts of the orchestrator's replies. While the server cannot be reached it
// says so and tries again. It closes the channel after an error that waiting does not mend.
func (s *Server) News(ctx context.Context, conversation string, after int64) <-chan progress.Update {
	f := &follower{server: s, conversation: conversation, seen: after, out: make(chan progress.Update)}
	go f.run(ctx)
	return f.out
}

type follower struct {
	server       *Server
	conversation string
	seen         int64
	writing      progress.Writing
	out          chan progress.Update
}

func (f *follower) run(ctx context.Context) {
	defer close(f.out)
	options := client.FollowOptions{
		After: f.seen, Deltas: []string{chat.Root}, Lost: func(err error) { f.send(ctx, progress.Update{Err: cause(err)}) },
	}
	for event, err := range f.server.Follow(ctx, f.conversation, options) {
		if err == nil {
			err = f.take(ctx, event)
		}
		if err != nil {
			if ctx.Err() == nil {
				f.send(ctx, progress.Update{Err: cause(err)})
			}
			return
		}
	}
}

// take hands one event on. After so long a pause that the stream does not send what was missed, it
// comes out of the history.
func (f *follower) take(ctx context.Context, e wire.Event) error {
	switch d := e.Data.(type) {
	case wire.Delta:
		if u, ok := f.writing.Delta(d); ok {
			f.send(ctx, u)
		}
		return nil
	case wire.Snapshot:
		return f.server.Recall(ctx, f.conversation, f.seen, func(page wire.History) bool {
			f.seen = page.Seq
			f.send(ctx, progress.Update{Events: page.Events, Seq: page.Seq})
			return f.seen < d.Conversation.Seq
		})
	}
	if e.Seq > f.seen { // the history may have gone further than the snapshot
		f.seen = e.Seq
		f.send(ctx, progress.Update{Events: []wire.Event{e}, Seq: e.Seq})
	}
	return nil
}

func (f *follower) send(ctx context.Context, u progress.Update) {
	select {
	case f.out <- u:
	case <-ctx.Done():
	}
}

// Recall reads the history of a conversation after an entry, page by page, to its end or for as
// long as take wants more.
func (s *Server) Recall(ctx context.Context, conversation string, after int64, take func(wire.History) bool) error {
	for {
		page, err := s.History(ctx, conversation, after, 0)
		if err != nil {
			return err
		}
		if after = page.Seq; !take(page) || !page.More {
			return nil
		}
	}
}
