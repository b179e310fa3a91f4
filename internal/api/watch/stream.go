package watch

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/wire"
)

// mostBehind is how far back a stream may begin. A client that is further behind reads a snapshot
// faster.
const mostBehind = 10_000

func deltaOf(d live.Delta) wire.Delta {
	return wire.Delta{
		Type: wire.MessageDelta, Agent: d.Agent, Message: d.Message, Began: d.Began, Part: d.Part, Kind: string(d.Kind), Tool: d.Tool, Offset: d.Offset,
		Text: d.Text,
	}
}

type streamInput struct {
	route.InConversation
	LastID string `header:"Last-Event-ID" maxLength:"32" doc:"The id of the last event that was seen."`
	After  int64  `query:"after" minimum:"0" doc:"The same for those who cannot send headers, such as the seq of a snapshot."`
	Deltas string `query:"deltas" maxLength:"2000" doc:"The agents whose text is wanted while it is made: ids with commas between them, or all. Empty means none."`
}

// after is the last event that the reader has seen.
func (in streamInput) after() (int64, error) {
	if in.LastID == "" {
		return in.After, nil
	}
	seq, err := strconv.ParseInt(in.LastID, 10, 64)
	if err != nil || seq < 0 {
		return 0, &admission.Problem{Code: "invalid", Detail: "Last-Event-ID is not the id of an event"}
	}
	return seq, nil
}

// wants says of which agents deltas are wanted.
func (in streamInput) wants() func(string) bool {
	switch in.Deltas {
	case "":
		return func(string) bool { return false }
	case "all":
		return func(string) bool { return true }
	}
	list := map[string]bool{}
	for id := range strings.SplitSeq(in.Deltas, ",") {
		list[string(chat.ParseAddress(id))] = true
	}
	return func(agent string) bool { return list[agent] }
}

func (h *Hub) streamRoutes(t *route.Table) {
	all := recordedSchemas(t.Schemas())
	maps.Copy(all, passingSchemas(t.Schemas(), wire.MessageDelta, wire.Resynced, wire.StreamCut))
	route.Add(t, admission.AccessRead, huma.Operation{
		OperationID: "streamConversation", Method: http.MethodGet, Path: "/v1/conversations/{conversation}/events",
		Summary: "What happens in a conversation, as it happens", Tags: []string{"events"},
		Description: "Server-sent events. The id of an event is its seq: send the last one as Last-Event-ID and nothing is missed or " +
			"sent twice. message.delta has no id and may be lost. After resync read the snapshot again and pass over what it has " +
			"already. stream.cut says why the stream ends: come back with Last-Event-ID, unless it says deleted or refused.",
		Responses: eventStream(t.Schemas(), "StreamEvent", "What happens, until the reader goes.", all),
	}, h.stream)
}

// stream joins a conversation before it answers, so that what does not exist is a 404.
func (h *Hub) stream(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	after, err := in.after()
	if err != nil {
		return nil, err
	}
	ref := in.Place(ctx)
	if err := h.exists(ctx, ref); err != nil {
		return nil, err // who watches for others sees everything
	}
	reader, leave, err := h.join(ctx, ref, in.wants())
	if err != nil {
		return nil, err
	}
	known, err := h.reachable(ctx, ref, after, reader.from)
	if err != nil {
		leave()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		admission.Outlast(r, func() {
			defer leave()
			h.send(r, w, sitting{ref: ref, reader: reader, after: after, known: known})
		})
	}}, nil
}

// exists complains if there is no such conversation.
func (h *Hub) exists(ctx context.Context, ref journal.Ref) error {
	entries, err := h.log.Find(ctx, ref, journal.Opened{}.Key())
	if err == nil && len(entries) == 0 {
		err = journal.NotFound()
	}
	return err
}

// sitting is one who has joined: after is the last event they saw, and known whether what came
// since can be sent.
type sitting struct {
	ref    journal.Ref
	reader *reader
	after  int64
	known  bool
}

// send is a stream from its beginning to its end.
func (h *Hub) send(r *http.Request, w http.ResponseWriter, in sitting) {
	out, err := newPipe(w)
	if err != nil || r.Method == http.MethodHead {
		return
	}
	seen := max(in.after, in.reader.from)
	if in.known {
		err = h.backfill(r.Context(), out, in.ref, in.after, in.reader.from)
	} else {
		h.resyncs.Add(1)
		seen = in.reader.from
		err = resync(out, seen)
	}
	switch {
	case err == nil:
		h.pump(r.Context(), out, in.reader, seen)
	case chat.CodeOf(err) == chat.CodeNotFound:
		out.cut(cutDeleted)
	}
}

// reachable reports whether what came after an event can be sent. An event that this server has not
// got to yet may have come from another, which is ahead.
func (h *Hub) reachable(ctx context.Context, ref journal.Ref, after, from int64) (bool, error) {
	if after <= from {
		return from-after <= mostBehind, nil
	}
	tails, err := h.log.Tails(ctx, ref.Tenant, ref.Conversation)
	return after <= tails[ref.Conversation].Seq, err
}

// resync sends a reader to the snapshot. From there on its place is seq.
func resync(out *pipe, seq int64) error {
	bytes, err := sent(strconv.FormatInt(seq, 10), wire.Resynced, wire.Resync{Type: wire.Resynced, Seq: seq})
	if err != nil {
		return err
	}
	return out.write(bytes)
}

// backfill sends what is recorded after the last event that was seen, up to seq.
func (h *Hub) backfill(ctx context.Context, out *pipe, ref journal.Ref, after, seq int64) error {
	for after < seq {
		entries, err := h.log.Entries(ctx, ref, after, int(min(seq-after, tapPage)))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return errors.New("the journal ends before its last entry")
		}
		frames, err := framesOf(ref.Conversation, entries)
		if err != nil {
			return err
		}
		for i, f := range frames { // one after another, so that a slow reader holds no more than is left
			if err := out.write(f.after(after, "", nil)...); err != nil {
				return err
			}
			frames[i] = nil
		}
		after = entries[len(entries)-1].Seq
	}
	return nil
}
