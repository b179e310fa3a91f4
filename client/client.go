// Package client talks to a Retinue server: commands, everything that can be read, and one
// stream of events per conversation that survives cut connections and restarts of servers.
//
// Commands carry an Idempotency-Key, made once per call and sent again with every retry, so that a
// command is carried out once even if its answer is lost several times. A refusal of the server is
// a *Problem, which says what to do next.
//
// The package stands by itself: it imports the standard library only. Its methods cover all
// operations of the document that the server serves under /openapi.json.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	// BaseURL is where the server is, such as http://127.0.0.1:7433.
	BaseURL string
	// Key is an API key, or the token of a local installation.
	Key string
	// HTTP sends the requests; nil means a client with bounds. A timeout in it would end streams.
	HTTP *http.Client
	// Attempts is how often a request is sent before its last error is returned; zero means 6.
	Attempts int

	command string
	strict  bool
}

const (
	defaultAttempts = 6
	// attemptTime is how long one attempt may take that is not a stream.
	attemptTime = 60 * time.Second
	firstWait   = 200 * time.Millisecond
	maxWait     = 5 * time.Second
	// maxRetryAfter is the longest that a server is believed when it asks for patience.
	maxRetryAfter = time.Minute
	// maxAnswer is how large an answer may be.
	maxAnswer = 64 << 20
)

// Keyed returns a client whose commands carry this Idempotency-Key instead of one of their own.
// Programs that keep the key before they send the command can repeat it after they were ended in
// between.
func (c *Client) Keyed(key string) *Client {
	keyed := *c
	keyed.command = key
	return &keyed
}

// request is one request, before it is sent for the first time.
type request struct {
	method string
	path   string
	query  url.Values
	// body is sent as JSON unless lines are.
	body  any
	lines io.ReadSeeker
	// keyed requests are commands. Those that may be sent once only are not sent again after an
	// answer was lost.
	keyed, once bool
	// last is the last event that was seen, for streams.
	last string
}

// at makes a path of parts, of which none can lead elsewhere.
func at(parts ...string) string {
	var out strings.Builder
	out.WriteString("/v1")
	for _, part := range parts {
		out.WriteString("/" + url.PathEscape(part))
	}
	return out.String()
}

// inAddress is an agent's or a task's id as it stands in an address.
func inAddress(id string) string { return strings.ReplaceAll(id, "/", "~") }

// call sends a request until it is answered, and reads the answer into out, unless that is nil.
func (c *Client) call(ctx context.Context, r request, out any) error {
	return c.retry(ctx, r, func(resp *http.Response) error {
		if out == nil {
			return nil
		}
		d := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))
		if c.strict {
			d.DisallowUnknownFields()
		}
		if err := d.Decode(out); err != nil {
			return &brokenError{err}
		}
		return nil
	})
}

// brokenError is an answer that did not arrive whole: the request is sent again.
type brokenError struct{ error }

// Unwrap gives the cause.
func (b *brokenError) Unwrap() error { return b.error }

// retry sends a request until it is answered with success and read.
func (c *Client) retry(ctx context.Context, r request, read func(*http.Response) error) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	key := c.command
	if key == "" && r.keyed {
		key = rand.Text()
	}
	attempts := c.Attempts
	if attempts <= 0 {
		attempts = defaultAttempts
	}
	for attempt := 1; ; attempt++ {
		err := c.attempt(ctx, r, body, key, read)
		wait, again := patience(err, attempt)
		if _, lost := errors.AsType[*brokenError](err); lost && r.once {
			return err
		}
		if err == nil || !again || attempt == attempts || ctx.Err() != nil {
			return err
		}
		if sleep(ctx, wait) != nil {
			return err
		}
	}
}

// attempt sends a request once.
func (c *Client) attempt(ctx context.Context, r request, body []byte, key string, read func(*http.Response) error) error {
	if r.lines == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, attemptTime)
		defer cancel()
	} else if _, err := r.lines.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read from the beginning: %w", err)
	}
	resp, err := c.send(ctx, r, body, key, "application/json")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // all of it was read, or it is of no use
	return read(resp)
}

// send sends a request and returns its answer, if it is one of success.
func (c *Client) send(ctx context.Context, r request, body []byte, key, accept string) (*http.Response, error) {
	address := strings.TrimSuffix(c.BaseURL, "/") + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var content io.Reader
	kind := ""
	switch {
	case r.lines != nil:
		content, kind = io.NopCloser(r.lines), "application/x-ndjson"
	case body != nil:
		content, kind = bytes.NewReader(body), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, content)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	for name, value := range map[string]string{
		"Authorization": bearer(c.Key), "Idempotency-Key": key, "Content-Type": kind, "Accept": accept,
		"Last-Event-ID": r.last,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	client := c.HTTP
	if client == nil {
		client = bounded()
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, &brokenError{err}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer func() { _ = resp.Body.Close() }() // all of it was read, or it is of no use
		return nil, problemOf(resp)
	}
	return resp, nil
}

// bounded is the HTTP client of callers that bring none. Each request also has a bound of its own.
var bounded = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 6 * time.Minute, IdleConnTimeout: 90 * time.Second,
		MaxIdleConns: 100, MaxIdleConnsPerHost: 16, ForceAttemptHTTP2: true,
	}}
})

func bearer(key string) string {
	if key == "" {
		return ""
	}
	return "Bearer " + key
}

// patience says how long to wait before the same is sent again, and whether it should be.
func patience(err error, attempt int) (time.Duration, bool) {
	wait := min(maxWait, firstWait<<min(attempt-1, 10))
	wait = wait/2 + mathrand.N(wait/2+1) // so that many do not come back at once
	if p, ok := errors.AsType[*Problem](err); ok {
		switch p.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return max(wait, min(p.RetryAfter, maxRetryAfter)), true
		}
		return 0, false
	}
	_, broken := errors.AsType[*brokenError](err)
	return wait, broken
}

// sleep waits, but not longer than ctx lasts.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
