package scripted

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

// fail replaces a response by an error of the provider. Nothing was generated, nothing is billed.
func (x *exchange) fail(status int, message string) {
	x.response = errorResponse(x.ask.Provider, refusal(status, "%s", message), x.id)
}

// errorResponse is an error in the provider's shape.
func errorResponse(p Provider, r *request.Refusal, id string) *response {
	out := &response{status: r.Status, header: http.Header{"Content-Type": {"application/json"}}}
	body := openaiError(r.Status, r.Message, r.Param)
	if p == Anthropic {
		body = anthropicError(r.Status, r.Message, id)
	}
	out.frames = []frame{{frameBody, body}}
	return out
}

func hangUp(x *exchange, _ Trouble) { x.response = &response{end: endReset} }

func stall(x *exchange, t Trouble) { x.response.delay += cmp.Or(t.Wait, 180*time.Second) }

func drip(x *exchange, t Trouble) { x.response.drip = cmp.Or(t.Wait, time.Second) }

func limited(x *exchange, t Trouble) {
	limitedBare(x, t)
	retryAfter(x.response.header, cmp.Or(t.Wait, time.Second))
}

// retryAfter asks for a pause. The header has whole seconds, so a shorter pause is rounded up there
// and said exactly in the one that both SDKs also read.
func retryAfter(h http.Header, d time.Duration) {
	seconds := (d + time.Second - 1) / time.Second
	h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	h.Set("Retry-After-Ms", strconv.FormatInt(d.Milliseconds(), 10))
}

func limitedBare(x *exchange, _ Trouble) {
	x.fail(http.StatusTooManyRequests, "This request would exceed your rate limit. Please try again later.")
}

func overloaded(x *exchange, _ Trouble) {
	if x.ask.Provider == Anthropic {
		x.fail(statusOverloaded, "Overloaded")
		return
	}
	x.fail(http.StatusServiceUnavailable, "The engine is currently overloaded, please try again later.")
}

func serverError(x *exchange, _ Trouble) {
	x.fail(http.StatusInternalServerError, "Internal server error")
}

func badGateway(x *exchange, _ Trouble) {
	page := "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
		"<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
	x.response = &response{
		status: http.StatusBadGateway, header: http.Header{"Content-Type": {"text/html"}},
		frames: []frame{{frameBody, []byte(page)}},
	}
}

func lateGateway(x *exchange, t Trouble) {
	x.fail(http.StatusGatewayTimeout, "The request timed out.")
	x.response.delay, x.response.billed = t.Wait, true
}

// cut keeps the frames before one and tears the connection down. A body that is no stream is cut in
// half.
func cut(x *exchange, t Trouble) {
	r := x.response
	r.end = endReset
	if r.frames[0].kind == frameBody {
		r.header.Set("Content-Length", strconv.Itoa(len(r.frames[0].bytes)))
		r.frames[0].bytes = r.frames[0].bytes[:len(r.frames[0].bytes)/2]
		return
	}
	r.frames = r.frames[:min(t.At, len(r.frames))]
}

func noEnd(x *exchange, t Trouble) {
	r := x.response
	if r.frames[0].kind == frameBody {
		r.frames[0].bytes = r.frames[0].bytes[:len(r.frames[0].bytes)/2]
		return
	}
	at := r.at(frameStop)
	if t.At > 0 {
		at = r.at(frameLast)
	}
	r.frames = r.frames[:at]
}

// at is the place of the first frame of a kind, or of the last frame of all.
func (r *response) at(kind frameKind) int {
	i := slices.IndexFunc(r.frames, func(f frame) bool { return f.kind == kind })
	if i < 0 {
		return len(r.frames) - 1
	}
	return i
}

func shortEnd(x *exchange, _ Trouble) {
	last := &x.response.frames[len(x.response.frames)-1]
	last.bytes = last.bytes[:len(last.bytes)/2]
}

func twice(x *exchange, t Trouble) {
	r := x.response
	at := r.at(frameBegin)
	if t.At > 0 {
		at = min(t.At, len(r.frames)-1)
	}
	r.frames = slices.Insert(slices.Clone(r.frames), at, r.frames[at])
}

// reordered swaps the last two runs of frames that belong to one block each.
func reordered(x *exchange, _ Trouble) {
	r := x.response
	stop := r.at(frameStop)
	start := func(end int) int {
		i := end - 1
		for i > 0 && r.frames[i].kind != frameBegin {
			i--
		}
		return i
	}
	second := start(stop)
	first := start(second)
	if first <= 0 {
		return
	}
	r.frames = slices.Concat(r.frames[:first], r.frames[second:stop], r.frames[first:second], r.frames[stop:])
}

// pings keeps the opening, repeats a sign of life and ends without having said anything.
func pings(x *exchange, t Trouble) {
	r := x.response
	ping := frame{framePing, []byte(": keep-alive\n\n")}
	if i := r.at(framePing); r.frames[i].kind == framePing {
		ping = r.frames[i]
	}
	r.frames = []frame{r.frames[0], ping}
	r.repeat, r.repeatAt = cmp.Or(t.Wait, 180*time.Second), 1
}

func badUTF8(x *exchange, _ Trouble) {
	f := &x.response.frames[x.response.at(frameDelta)]
	if before, after, ok := bytes.Cut(f.bytes, []byte(`"}`)); ok {
		f.bytes = slices.Concat(before, []byte("\xff"), []byte(`"}`), after)
	}
}

func gzipBomb(x *exchange, t Trouble) {
	x.fill(4<<20, cmp.Or(t.Size, 128<<20))
	x.response.zip = true
}

func flood(x *exchange, t Trouble) { x.fill(64<<10, cmp.Or(t.Size, 100<<20)) }

// fill makes the first delta as large as piece and repeats it until size bytes were sent. Where
// there is no delta, spaces before the body do, which JSON allows.
func (x *exchange) fill(piece, size int) {
	long := *x.answer
	long.thinking, long.calls, long.text, long.chunk = "", nil, strings.Repeat("a", piece), piece
	r := x.response
	if r.frames[0].kind == frameBody {
		r.frames = []frame{{frameBody, bytes.Repeat([]byte(" "), piece)}, r.frames[0]}
		r.flood, r.floodAt = size, 0
		return
	}
	r.frames = layOut(x.ask, &long).frames
	r.flood, r.floodAt = size, r.at(frameDelta)
}

func storm(x *exchange, t Trouble) {
	if x.age < cmp.Or(t.Wait, 5*time.Minute) {
		limitedBare(x, t)
	}
}

func errorEvent(x *exchange, t Trouble) {
	r := x.response
	if r.frames[0].kind == frameBody {
		overloaded(x, t)
		return
	}
	failure := frame{frameLast, slices.Concat([]byte("data: "),
		openaiError(http.StatusInternalServerError, "The server had an error while processing your request.", ""),
		[]byte("\n\n"))}
	if x.ask.Provider == Anthropic {
		failure.bytes = slices.Concat([]byte("event: error\ndata: "),
			anthropicError(statusOverloaded, "Overloaded", x.id), []byte("\n\n"))
	}
	r.frames = append(slices.Clone(r.frames[:min(max(t.At, 1), r.at(frameStop))]), failure)
}

// layOut makes the response of an answer.
func layOut(q *ask, a *answer) *response {
	if q.Provider == Anthropic {
		return anthropicResponse(q, a)
	}
	return openaiResponse(q, a)
}
