package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// fetchTime is how long a document may take.
const fetchTime = 30 * time.Second

// Fetch reads the document that a server serves.
func Fetch(ctx context.Context, server string) (*Contract, error) {
	document, err := FetchDocument(ctx, server)
	if err != nil {
		return nil, err
	}
	return NewContract(document)
}

// FetchDocument is the text of the document that a server serves.
func FetchDocument(ctx context.Context, server string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/openapi.json", nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Timeout: fetchTime}).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was read to its end
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/openapi.json is answered with %s", server, response.Status)
	}
	return io.ReadAll(response.Body)
}

// Client is an HTTP client whose exchanges are all checked against a document. Each break of the
// promise fails the test.
func (c *Contract) Client(t testing.TB) *http.Client {
	return &http.Client{Transport: c.Watch(&http.Transport{ResponseHeaderTimeout: time.Minute}, Fail(t))}
}

// mostBroken is how many breaks of the promise a test shows.
const mostBroken = 20

// Fail fails a test for each break of the promise, and shows the first ones.
func Fail(t testing.TB) func(error) {
	var count atomic.Int64
	return func(err error) {
		if count.Add(1) > mostBroken {
			t.Fail()
			return
		}
		t.Error(err)
	}
}

// Watch checks every exchange that goes over a transport against the document, and tells of each
// break of the promise. Answers are looked at when they are here whole, and events of streams one
// by one: nobody promised a piece that is cut off on its way.
func (c *Contract) Watch(base http.RoundTripper, broken func(error)) http.RoundTripper {
	return &transport{contract: c, base: base, broken: broken}
}

// transport notes what goes to and fro.
type transport struct {
	contract *Contract
	base     http.RoundTripper
	broken   func(error)
}

// RoundTrip implements http.RoundTripper.
func (r *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	op := r.contract.find(req.Method, req.URL.EscapedPath())
	if op == nil {
		return r.base.RoundTrip(req)
	}
	var sent []byte
	if req.Body != nil && op.takesJSON() {
		var err error
		sent, err = io.ReadAll(req.Body)
		if err := errors.Join(err, req.Body.Close()); err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.contract.look(exchange{op: op, request: req, sent: sent, response: resp}, r.broken)
	return resp, nil
}

// Look does the same for one answer that came without a transport.
func (c *Contract) Look(resp *http.Response, broken func(error)) {
	if op := c.find(resp.Request.Method, resp.Request.URL.EscapedPath()); op != nil {
		c.look(exchange{op: op, request: resp.Request, response: resp}, broken)
	}
}

// look looks at what is here of an answer, and at its body while it is read.
func (c *Contract) look(e exchange, broken func(error)) {
	if err := c.head(e); err != nil {
		c.note(e, false)
		broken(err)
		return
	}
	kind, _ := e.op.place(e.response)
	switch kind {
	case "text/event-stream":
		c.note(e, true)
		e.response.Body = copied{Closer: e.response.Body, Reader: io.TeeReader(e.response.Body, &frames{handle: func(name string, data []byte) {
			if err := c.event(e, name, data); err != nil {
				broken(err)
			}
		}})}
	case "application/x-ndjson": // large, and described as text
		c.note(e, true)
	default:
		e.response.Body = &whole{ReadCloser: e.response.Body, done: func(received []byte) {
			err := c.body(e, received)
			c.note(e, err == nil)
			if err != nil {
				broken(err)
			}
		}}
	}
}

func (op *operation) takesJSON() bool {
	if op.RequestBody == nil {
		return true // there should be nothing
	}
	_, ok := op.RequestBody.Content["application/json"]
	return ok
}

// copied is a body of which a copy is kept.
type copied struct {
	io.Reader
	io.Closer
}

// whole is a body that is handed on when its end is reached.
type whole struct {
	io.ReadCloser
	received bytes.Buffer
	done     func([]byte)
}

// Read implements io.Reader.
func (w *whole) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.received.Write(p[:n])
	if errors.Is(err, io.EOF) && w.done != nil {
		done := w.done
		w.done = nil
		done(w.received.Bytes())
	}
	return n, err
}

// Close implements io.Closer.
func (w *whole) Close() error {
	if w.done != nil {
		_, _ = io.Copy(io.Discard, w) // what the caller did not look at; if it does not come, it was cut off
	}
	return w.ReadCloser.Close()
}

// frames takes the events out of a stream that is written to it.
type frames struct {
	handle func(name string, data []byte)
	line   []byte
	name   string
	data   []byte
}

// Write implements io.Writer.
func (f *frames) Write(p []byte) (int, error) {
	for rest := p; ; {
		text, after, found := bytes.Cut(rest, []byte("\n"))
		f.line = append(f.line, text...)
		if !found {
			return len(p), nil
		}
		f.take(bytes.TrimSuffix(f.line, []byte("\r")))
		f.line, rest = f.line[:0], after
	}
}

// take takes one line. An empty one ends an event.
func (f *frames) take(line []byte) {
	if len(line) == 0 {
		if f.data != nil {
			f.handle(f.name, f.data)
		}
		f.name, f.data = "", nil
		return
	}
	if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
		f.name = string(name)
	}
	if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
		f.data = append(f.data, data...)
	}
}
