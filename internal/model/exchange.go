package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// maxReply is the most content of one reply, and maxCalls the most calls in it.
	maxReply = 8 << 20
	maxCalls = 256
	// maxPieces bounds the number of tiny parts of a reply.
	maxPieces = 1024
)

// Exchange is one request on its way. An adapter tells it what the provider's stream says; the
// Exchange keeps the rules that are the same on every wire: one end, nothing incomplete, nothing
// without bounds, no wait longer than agreed.
type Exchange struct {
	req    Request
	told   func(Delta)
	caller context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	guard  *watchdog

	began  time.Time
	first  time.Duration
	sent   atomic.Bool
	wire   error  // the transport's message
	broken *Error // why the stream is of no use

	pieces  []*Piece
	calls   int
	shown   int
	written int
	id      string
	model   string
	stop    Stop
	count   Count
}

// Begin opens an exchange for a checked request. It must be closed.
func Begin(ctx context.Context, req Request, told func(Delta)) *Exchange {
	x := &Exchange{req: req, told: told, caller: ctx, began: time.Now()}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	idle := req.Idle
	if idle <= 0 {
		idle = DefaultIdle
	}
	x.guard = watch(idle, func(why error) { x.cancel(why) })
	return x
}

// Close lets go of everything the exchange holds.
func (x *Exchange) Close() {
	_ = x.guard.stop()
	x.cancel(nil)
}

// Context is what the request must be sent with.
func (x *Exchange) Context() context.Context { return x.ctx }

// Going reports whether it is worth reading on.
func (x *Exchange) Going() bool { return x.broken == nil }

// Break gives the stream up: the data received cannot be used. The first reason counts.
func (x *Exchange) Break(kind chat.ErrorKind, format string, args ...any) {
	if x.broken == nil {
		x.broken = &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
	}
}

// Identify takes down what the provider calls the exchange and itself. The first names count.
func (x *Exchange) Identify(id, model string) {
	if x.id == "" {
		x.id = bounds(id)
	}
	if x.model == "" {
		x.model = bounds(model)
	}
}

// Open begins a part of the reply. Parts are put in the order given, whenever they came.
func (x *Exchange) Open(order int64, kind chat.PartKind) *Piece {
	if kind == chat.PartToolUse {
		x.calls++
	}
	if x.calls > maxCalls || len(x.pieces) >= maxPieces {
		x.Break(chat.KindNoResult, "the reply has more than %d calls or %d parts", maxCalls, maxPieces)
	}
	p := &Piece{x: x, order: order, kind: kind, index: -1}
	if x.Going() {
		x.pieces = append(x.pieces, p)
		x.written += pieceBytes
	}
	return p
}

// Count takes down what the provider says was used so far. The last word counts.
func (x *Exchange) Count(c Count) { x.count = c }

// Counted is the last count.
func (x *Exchange) Counted() Count { return x.count }

// Stop says that the provider is done. From here on the reply is complete, whatever happens to the
// connection; only the usage may still come.
func (x *Exchange) Stop(stop Stop) {
	x.stop = stop
	x.guard.calm(settling)
}

// Linger says that the provider has sent its last frame. The end of the response is waited for only
// a moment, so that the connection can be used again.
func (x *Exchange) Linger() { x.guard.calm(lingering) }

// Stopped reports whether the reply is complete.
func (x *Exchange) Stopped() bool { return x.stop != "" }

// grow counts content and reports whether there is room for it.
func (x *Exchange) grow(n int) bool {
	x.guard.fed()
	x.written += n
	if x.written > maxReply {
		x.Break(chat.KindNoResult, "the reply is larger than %d bytes", maxReply)
	}
	return x.Going()
}

// tell passes a delta on. The provider is not blamed for the time that takes.
func (x *Exchange) tell(d Delta) {
	if x.first == 0 {
		x.first = max(1, time.Since(x.began))
	}
	if x.told == nil {
		return
	}
	x.guard.hold()
	x.told(d)
	x.guard.fed()
}

// End makes the one end of the call. The error is what the SDK's stream ended with; explain knows
// the provider's own errors and returns nil for all others.
func (x *Exchange) End(err error, explain func(error) *Error) (Reply, error) {
	bitten := x.guard.stop()
	if x.broken == nil && x.Stopped() {
		return x.reply(), nil
	}
	e := x.failure(err, bitten, explain)
	e.Usage = x.count.known(x.req)
	return Reply{}, e
}

func (x *Exchange) failure(err, bitten error, explain func(error) *Error) *Error {
	sent := x.sent.Load()
	if x.broken != nil {
		x.broken.Unmetered = sent
		return x.broken
	}
	if why := x.caller.Err(); why != nil {
		kind, text := chat.KindCancelled, "the call was cancelled"
		if errors.Is(why, context.DeadlineExceeded) {
			kind, text = chat.KindTimedOut, "the call took longer than it may"
		}
		return &Error{Kind: kind, Message: text, Unmetered: sent, Cause: why}
	}
	if bitten != nil {
		return &Error{Kind: chat.KindNetwork, Message: bitten.Error(), Unmetered: sent, Cause: bitten}
	}
	if err == nil {
		return &Error{
			Kind: chat.KindNetwork, Message: "the stream ended before the reply was complete",
			Unmetered: true, Cause: io.ErrUnexpectedEOF,
		}
	}
	if e := explain(err); e != nil {
		return e
	}
	if x.wire != nil {
		return &Error{
			Kind: chat.KindNetwork, Message: "the connection to the provider broke", Unmetered: sent,
			Cause: withoutURL(x.wire),
		}
	}
	return &Error{
		Kind: chat.KindServerError, Message: "the provider sent what cannot be read", Unmetered: sent,
	}
}

// reply puts the pieces together.
func (x *Exchange) reply() Reply {
	r := Reply{Stop: x.stop, Model: x.model, ID: x.id, First: x.first}
	slices.SortStableFunc(x.pieces, func(a, b *Piece) int { return cmp.Compare(a.order, b.order) })
	if x.calls > 0 && r.Stop == StopEnd {
		r.Stop = StopTools // the calls themselves are plainer than the stop reason
	} else if x.calls == 0 && r.Stop == StopTools {
		r.Stop = StopEnd
	}
	calls := 0
	for _, p := range x.pieces {
		if p.kind != chat.PartToolUse {
			if part, full := p.part(); full {
				r.Parts = append(r.Parts, part)
			}
			continue
		}
		id := fmt.Sprintf("%d.%d", x.req.Turn, calls)
		calls++
		part, usable := p.call(id, r.Stop == StopTools && x.requiresNothing(p.tool))
		if !usable {
			r.Malformed = append(r.Malformed, id)
		}
		r.Parts = append(r.Parts, part)
	}
	r.Usage, r.Estimated = x.count.usage(x.req, x.stop, x.written)
	return r
}

// requiresNothing reports whether a tool can be called without any argument.
func (x *Exchange) requiresNothing(tool string) bool {
	i := slices.IndexFunc(x.req.Tools, func(t Tool) bool { return t.Name == tool })
	if i < 0 {
		return false
	}
	s, ok := readSchema(x.req.Tools[i].Schema)
	return ok && len(s.Required) == 0
}

// withoutURL takes an address, which may hold a secret, off an error.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// bounds drops names of a provider's that are too strange to record.
func bounds(name string) string {
	const most = 256
	if len(name) > most || !utf8.ValidString(name) {
		return ""
	}
	return name
}
