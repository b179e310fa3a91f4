package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

const (
	// beatEvery is how often a quiet stream shows that it is alive.
	beatEvery = 15 * time.Second
	// writeTime is how long a reader may take to take anything.
	writeTime = 30 * time.Second
	// mostBehind is how far back a stream may begin. Who is further behind reads a snapshot faster.
	mostBehind = 10_000
)

// What a stream says beside what is recorded. It has no id.
const (
	eventDelta  EventType = "message.delta"
	eventResync EventType = "resync"
	eventCut    EventType = "stream.cut"
)

// Delta is text on its way. The message.completed that follows replaces it.
type Delta struct {
	Agent   string `json:"agent_path"`
	Message string `json:"message"`
	Began   int64  `json:"began" doc:"When the reply was begun. A later one replaces all of an earlier one."`
	Part    int    `json:"part"`
	Kind    string `json:"kind"`
	Tool    string `json:"tool,omitempty"`
	Offset  int64  `json:"offset" doc:"Where the text belongs in its part, in bytes of UTF-8."`
	Text    string `json:"text,omitempty"`
}

func deltaOf(d live.Delta) Delta {
	return Delta{
		Agent: d.Agent, Message: d.Message, Began: d.Began, Part: d.Part, Kind: string(d.Kind), Tool: d.Tool, Offset: d.Offset,
		Text: d.Text,
	}
}

// Resync says that what was missed is too much to send: read the snapshot again. The stream goes on
// after seq.
type Resync struct {
	Seq int64 `json:"seq"`
}

// Cut says why a stream ends.
type Cut struct {
	Reason string `json:"reason" enum:"slow,closing"`
}

type streamInput struct {
	InConversation
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
		return 0, &Problem{Code: "invalid", Detail: "Last-Event-ID is not the id of an event"}
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
		list[slashed(id)] = true
	}
	return func(agent string) bool { return list[agent] }
}

func (s *Server) streamRoutes() {
	register(s, accessRead, huma.Operation{
		OperationID: "streamConversation", Method: http.MethodGet, Path: "/v1/conversations/{conversation}/events",
		Summary: "What happens in a conversation, as it happens", Tags: []string{"events"},
		Description: "Server-sent events. The id of an event is its seq: send the last one as Last-Event-ID and nothing is missed or sent twice.",
	}, s.stream)
}

// stream joins a conversation before it answers, so that what does not exist is a 404.
func (s *Server) stream(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	after, err := in.after()
	if err != nil {
		return nil, err
	}
	place := in.place(ctx)
	reader, seq, leave, err := s.hub.join(ctx, place, in.wants())
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		defer leave()
		r, w := unwrap(h)
		out := newPipe(w)
		if r.Method == http.MethodHead {
			return // its connection takes the next request, which must not wait for a stream
		}
		if s.backfill(r.Context(), out, place, after, seq) == nil {
			s.pump(r.Context(), out, reader)
		}
	}}, nil
}

// pipe writes to a reader who may be slow.
type pipe struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newPipe(w http.ResponseWriter) *pipe {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies that would hold it back
	return &pipe{w: w, control: http.NewResponseController(w)}
}

// write sends bytes on their way, all of them.
func (p *pipe) write(chunks ...[]byte) error {
	if err := p.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	for _, c := range chunks {
		if _, err := p.w.Write(c); err != nil {
			return err
		}
	}
	return p.control.Flush()
}

// backfill sends what is recorded after the last event that was seen, up to seq.
func (s *Server) backfill(ctx context.Context, out *pipe, place journal.Place, after, seq int64) error {
	if after > seq || seq-after > mostBehind {
		s.resyncs.Add(1)
		f, err := passing(string(eventResync), Resync{Seq: seq})
		if err != nil {
			return err
		}
		return out.write(f.bytes)
	}
	if err := out.write([]byte(": hello\n\n")); err != nil {
		return err
	}
	for after < seq {
		entries, err := s.options.Log.Entries(ctx, place, after, int(min(seq-after, tapPage)))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return errors.New("the journal ends before its last entry")
		}
		var chunks [][]byte
		for _, f := range framesOf(place.Conversation, entries) {
			chunks = append(chunks, f.bytes)
		}
		if err := out.write(chunks...); err != nil {
			return err
		}
		after = entries[len(entries)-1].Seq
	}
	return nil
}

// pump sends what comes until the reader goes or is too slow.
func (s *Server) pump(ctx context.Context, out *pipe, r *reader) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.closing:
			s.cut(out, "closing")
			return
		case <-beat.C:
			if out.write([]byte(": alive\n\n")) != nil {
				return
			}
		case f, ok := <-r.frames:
			if !ok {
				s.cuts.Add(1)
				s.cut(out, "slow")
				return
			}
			chunks := [][]byte{f.bytes}
			for range len(r.frames) { // all that waits goes at once
				if f, ok = <-r.frames; ok {
					chunks = append(chunks, f.bytes)
				}
			}
			if out.write(chunks...) != nil {
				return
			}
		}
	}
}

// cut tells a reader why its stream ends. It begins again after the last event it saw.
func (s *Server) cut(out *pipe, reason string) {
	if f, err := passing(string(eventCut), Cut{Reason: reason}); err == nil {
		_ = out.write(f.bytes) // it may have gone
	}
}
