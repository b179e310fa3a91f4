// Package remote follows the conversations of a server over its API. What was missed for so long
// that the stream does not send it comes out of an export.
//
// It imports client, wire, events, chat, the ports journal and live, and progress. It promises that
// each event comes once and in order, whatever happens to connections and servers meanwhile.
package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// Follow sends what is recorded in a conversation after an entry until ctx ends, and drafts of the
// orchestrator's replies. While the server cannot be reached it says so and tries again. The
// channel is closed after an error that waiting does not mend.
func Follow(ctx context.Context, c *client.Client, conversation string, after int64) <-chan progress.Update {
	f := &follower{client: c, conversation: conversation, seen: after, out: make(chan progress.Update)}
	go f.run(ctx)
	return f.out
}

type follower struct {
	client       *client.Client
	conversation string
	seen         int64
	writing      progress.Writing
	out          chan progress.Update
}

func (f *follower) run(ctx context.Context) {
	defer close(f.out)
	options := client.FollowOptions{
		After: f.seen, Deltas: []string{chat.Root}, Lost: func(err error) { f.send(ctx, progress.Update{Err: Cause(err)}) },
	}
	for event, err := range f.client.Follow(ctx, f.conversation, options) {
		if err == nil {
			err = f.take(ctx, event)
		}
		if err != nil {
			if ctx.Err() == nil {
				f.send(ctx, progress.Update{Err: Cause(err)})
			}
			return
		}
	}
}

// take hands one event on.
func (f *follower) take(ctx context.Context, e wire.Event) error {
	switch d := e.Data.(type) {
	case wire.Delta:
		u, ok := f.writing.Add(live.Delta{
			Agent: d.Agent, Message: d.Message, Began: d.Began, Part: d.Part, Kind: chat.PartKind(d.Kind), Tool: d.Tool,
			Offset: d.Offset, Text: d.Text,
		})
		if ok {
			f.send(ctx, u)
		}
		return nil
	case wire.Snapshot:
		return f.fill(ctx, d.Conversation.Seq)
	}
	f.seen = e.Seq
	f.send(ctx, progress.Update{Events: []wire.Event{e}, Seq: e.Seq})
	return nil
}

// fill reads what was missed up to an entry where the stream does not send it: out of an export.
func (f *follower) fill(ctx context.Context, upTo int64) error {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(f.client.Export(ctx, f.conversation, writer)) }()
	defer reader.Close() //nolint:errcheck // what is left of it is of no use
	lines := bufio.NewReader(reader)
	for f.seen < upTo {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read what was missed: %w", err)
		}
		var exported struct {
			Seq    int64           `json:"seq"`
			Number int64           `json:"number"`
			At     time.Time       `json:"at"`
			Kind   journal.Kind    `json:"kind"`
			Row    json.RawMessage `json:"row"`
		}
		if err := json.Unmarshal(line, &exported); err != nil {
			return fmt.Errorf("read what was missed: %w", err)
		}
		if exported.Seq <= f.seen {
			continue // the header, or known
		}
		row, err := journal.Read(exported.Kind, exported.Row)
		if err != nil {
			return fmt.Errorf("read what was missed: %w", err)
		}
		f.seen = exported.Seq
		u := progress.Update{Seq: exported.Seq}
		e, ok := events.Of(f.conversation, journal.Entry{Seq: exported.Seq, Number: exported.Number, At: exported.At, Row: row})
		if ok {
			u.Events = []wire.Event{e}
		}
		f.send(ctx, u)
	}
	return nil
}

func (f *follower) send(ctx context.Context, u progress.Update) {
	select {
	case f.out <- u:
	case <-ctx.Done():
	}
}

// codes are those of problems that are not named alike here.
var codes = map[string]chat.Code{"unauthorised": chat.CodeDenied, "forbidden": chat.CodeDenied}

// Cause is an error of the client as one with a code that people can act on. That the server could
// not be reached is one too.
func Cause(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	p, ok := errors.AsType[*client.Problem](err)
	if !ok {
		if request, ok := errors.AsType[*url.Error](err); ok {
			err = request.Err // which request it was helps nobody
		}
		return &chat.Error{Code: chat.CodeUnavailable, Message: err.Error()}
	}
	out := &chat.Error{Code: chat.Code(p.Code), Message: p.Detail}
	if code, other := codes[p.Code]; other {
		out.Code = code
	}
	for _, e := range p.Errors {
		out.Message += "; " + e.Location + " " + e.Message
	}
	if p.Next != "" {
		out.Message += " (" + p.Next + ")"
	}
	return out
}
