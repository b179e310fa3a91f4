package watch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/wire"
)

const (
	// beatEvery is how often a quiet stream shows that it is alive.
	beatEvery = 15 * time.Second
	// writeTime is how long a reader may take to take anything.
	writeTime = 30 * time.Second
	// retryTime is how long a browser waits before it comes back, and retrySpread how much longer some
	// do, so that those whom a server sent away do not all come at once.
	retryTime   = 500 * time.Millisecond
	retrySpread = 1000 * time.Millisecond
)

// pipe writes to a reader who may be slow.
type pipe struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// newPipe begins a stream.
func newPipe(w http.ResponseWriter) (*pipe, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies that would hold it back
	p := &pipe{w: w, control: http.NewResponseController(w)}
	wait := retryTime + rand.N(retrySpread)
	return p, p.write(fmt.Appendf(nil, "retry: %d\n\n", wait.Milliseconds()))
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

// cut tells a reader why its stream ends. It begins again after the last event it saw.
func (p *pipe) cut(reason string) {
	if bytes, err := sent("", wire.StreamCut, wire.Cut{Type: wire.StreamCut, Reason: reason}); err == nil {
		_ = p.write(bytes) // it may have gone
	}
}

// pump sends what comes, beyond what the reader has seen, until the reader goes or is cut off.
func (h *Hub) pump(ctx context.Context, out *pipe, r *reader, seen int64) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), admission.ErrRevoked) {
				out.cut(cutRefused)
			}
			return
		case <-h.closing:
			out.cut(cutClosing)
			return
		case <-beat.C:
			if out.write([]byte(": alive\n\n")) != nil {
				return
			}
		case f, ok := <-r.frames:
			if !ok {
				if r.why == cutSlow {
					h.cuts.Add(1)
				}
				out.cut(r.why)
				return
			}
			var chunks [][]byte
			chunks, seen = r.drain(f, seen)
			if len(chunks) > 0 && out.write(chunks...) != nil {
				return
			}
		}
	}
}

// drain takes a frame and all that waits behind it, because it can go at once.
func (r *reader) drain(f *frame, seen int64) ([][]byte, int64) {
	var chunks [][]byte
	for {
		r.took(f)
		chunks = f.after(seen, r.viewer, chunks)
		seen = max(seen, f.last())
		select {
		case next, ok := <-r.frames:
			if !ok { // the next receive says so again
				return chunks, seen
			}
			f = next
		default:
			return chunks, seen
		}
	}
}
