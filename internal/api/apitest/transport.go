package apitest

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Client is an HTTP client whose exchanges are all held against a document. Each break of the
// promise fails the test.
func (c *Contract) Client(t testing.TB) *http.Client {
	return &http.Client{Transport: &transport{contract: c, t: t, base: &http.Transport{ResponseHeaderTimeout: time.Minute}}}
}

// transport notes what goes to and fro.
type transport struct {
	contract *Contract
	t        testing.TB
	base     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent bytes.Buffer
	if req.Body != nil {
		req = req.Clone(req.Context())
		req.Body = &copied{Reader: io.TeeReader(req.Body, &sent), Closer: req.Body}
	}
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	received := &bytes.Buffer{}
	endless := resp.Header.Get("Content-Type") == "text/event-stream"
	resp.Body = &copied{
		Reader: io.TeeReader(resp.Body, received), Closer: resp.Body, endless: endless,
		done: sync.OnceFunc(func() {
			err := r.contract.Check(Exchange{
				Method: req.Method, URL: req.URL, Request: req.Header, Sent: sent.Bytes(),
				Status: resp.StatusCode, Response: resp.Header, Received: received.Bytes(),
			})
			if err != nil {
				r.t.Error(err)
			}
		}),
	}
	return resp, nil
}

// copied is a body of which a copy is kept. Done is called when it is closed.
type copied struct {
	io.Reader
	io.Closer
	endless bool
	done    func()
}

// Close implements io.Closer.
func (c *copied) Close() error {
	if c.done != nil && !c.endless {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Reader, 1<<20)) // what the caller did not look at
	}
	if c.done != nil {
		c.done()
	}
	return c.Closer.Close()
}
