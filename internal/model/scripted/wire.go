package scripted

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// frameKind is what a piece of a response is for, on either wire.
type frameKind int

const (
	// frameOpen begins the message, frameBegin a block of it.
	frameOpen frameKind = iota
	frameBegin
	frameDelta
	// frameEnd ends a block, frameStop says why the message ends.
	frameEnd
	frameStop
	// frameUsage is the count on its own, framePing says only that the line is alive.
	frameUsage
	framePing
	// frameLast is the required end of a stream, frameBody a response that is no stream.
	frameLast
	frameBody
)

// frame is one piece of a response: an event of a stream, or a whole body.
type frame struct {
	kind  frameKind
	bytes []byte
}

// ending is how a response ends after its last frame.
type ending int

const (
	endClean ending = iota
	// endReset tears the connection down.
	endReset
)

// response is an answer laid out for one wire: its pieces, and how it ends.
type response struct {
	status int
	header http.Header
	frames []frame
	delay  time.Duration
	pace   time.Duration
	end    ending
	// drip sends one byte at a time, this far apart.
	drip time.Duration
	// flood repeats frame floodAt until so many bytes were sent, zip compresses the whole.
	flood, floodAt int
	zip            bool
	// repeat sends frame repeatAt again and again, a pace apart, for so long.
	repeat   time.Duration
	repeatAt int
	// billed is false when nothing was generated.
	billed bool
}

// wait waits, and reports whether the client is still there.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// send writes a response and returns how many frames were written.
func (r *response) send(ctx context.Context, w http.ResponseWriter) int {
	if !wait(ctx, r.delay) {
		return 0
	}
	for name, values := range r.header {
		w.Header()[name] = values
	}
	var out io.Writer = w
	flush := http.NewResponseController(w).Flush
	if r.zip {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		out = zip
		plain := flush
		flush = func() error {
			if err := zip.Flush(); err != nil {
				return err
			}
			return plain()
		}
	}
	w.WriteHeader(r.status)
	sent := 0
	for i, f := range r.frames {
		if i > 0 && !wait(ctx, r.pace) {
			return sent
		}
		if !r.sendFrame(ctx, out, flush, i, f) {
			return sent
		}
		sent++
	}
	switch r.end {
	case endClean:
		if zip, ok := out.(*gzip.Writer); ok {
			_ = zip.Close() // the client has left or has everything: no error can reach it
		}
	case endReset:
		reset(w)
	}
	return sent
}

// sendFrame writes one frame as often as the response wants it and reports whether to continue.
func (r *response) sendFrame(
	ctx context.Context, out io.Writer, flush func() error, i int, f frame,
) bool {
	if r.repeat > 0 && i == r.repeatAt {
		for end := time.Now().Add(r.repeat); time.Now().Before(end); {
			if !writeOut(out, flush, f.bytes) || !wait(ctx, max(r.pace, time.Millisecond)) {
				return false
			}
		}
		return true
	}
	if r.flood > 0 && i == r.floodAt {
		for left := r.flood; left > 0; left -= len(f.bytes) {
			if _, err := out.Write(f.bytes); err != nil {
				return false
			}
		}
		return flush() == nil
	}
	if r.drip > 0 {
		for i := range f.bytes {
			if !writeOut(out, flush, f.bytes[i:i+1]) || !wait(ctx, r.drip) {
				return false
			}
		}
		return true
	}
	return writeOut(out, flush, f.bytes)
}

func writeOut(out io.Writer, flush func() error, bytes []byte) bool {
	_, err := out.Write(bytes)
	return err == nil && flush() == nil
}

// reset closes the connection so that the client sees it torn down, not ended.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the nearest thing when the connection cannot be had
	}
	abort(conn)
}

func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already is as good
	}
	_ = conn.Close()
}

// event is a frame of Anthropic's stream, which names its events.
func event(kind frameKind, name string, data any) frame {
	return frame{kind, fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, must(data))}
}

// data is a frame of OpenAI's stream, which does not.
func data(kind frameKind, v any) frame {
	return frame{kind, fmt.Appendf(nil, "data: %s\n\n", must(v))}
}

// must is JSON of our own structs, which cannot fail.
func must(v any) []byte {
	out, err := marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}
