package model_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// provider is an HTTP server that answers as told, and a client for it that speaks a wire of two
// fields. In a synctest bubble both run on the bubble's clock, so they are joined by pipes.
type provider struct {
	http *http.Client
	url  string

	mu       sync.Mutex
	arrivals []arrival
	// answer says how a request ends: a status, and the value of Retry-After.
	answer func(arrival) (status int, retryAfter string)
	// takes is how long an answer takes.
	takes func(arrival) time.Duration
	// body is the content of an answer of 200, one item a line: "tell" and a delta, "model" or
	// "cost" and the provider's value, and then "end" or the kind of error with which it breaks
	// off. Nil means only "end".
	body func(arrival) string
}

// arrival is one request as the provider saw it.
type arrival struct {
	At     time.Time `json:"-"`
	Agent  string
	Status int `json:"-"`
}

// pipes is a listener whose connections are made in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.done)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newProvider starts a provider. It is to be called inside a bubble.
func newProvider(t *testing.T, answer func(arrival) (int, string)) *provider {
	t.Helper()
	listener := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	transport := &http.Transport{DialContext: listener.dial, MaxIdleConnsPerHost: 100}
	p := &provider{http: &http.Client{Transport: transport}, url: "http://provider/", answer: answer}
	server := &http.Server{Handler: p}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := arrival{At: time.Now()}
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	status, retryAfter := p.answer(a)
	a.Status = status
	p.arrivals = append(p.arrivals, a)
	takes, body := p.takes, "end"
	if p.body != nil {
		body = p.body(a)
	}
	p.mu.Unlock()
	if takes != nil {
		select {
		case <-time.After(takes(a)):
		case <-r.Context().Done():
		}
	}
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	if status == http.StatusOK {
		_, _ = w.Write([]byte(body))
	}
}

// Generate implements model.Client, and sends once.
func (p *provider) Generate(ctx context.Context, req model.Request, told func(model.Delta)) (model.Reply, error) {
	body, err := json.Marshal(arrival{Agent: req.Caller.Agent})
	if err != nil {
		return model.Reply{}, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return model.Reply{}, err
	}
	resp, err := p.http.Do(post)
	if err != nil {
		kind := chat.KindNetwork
		if ctx.Err() != nil {
			kind = chat.KindCancelled
		}
		return model.Reply{}, &model.Error{Kind: kind, Message: "no answer", Cause: err}
	}
	defer func() { _ = resp.Body.Close() }()
	failure := &model.Error{Status: resp.StatusCode, RetryAfter: after(resp.Header.Get("Retry-After"))}
	switch {
	case resp.StatusCode == http.StatusOK:
		return read(resp.Body, req, told)
	case resp.StatusCode == http.StatusTooManyRequests:
		failure.Kind = chat.KindRateLimit
	case resp.StatusCode >= http.StatusInternalServerError:
		failure.Kind = chat.KindServerError
	default:
		failure.Kind = chat.KindInvalidRequest
	}
	return model.Reply{}, failure
}

// read reads the body of a 200. A delta costs a token, a reply with any costs ten of input.
func read(body io.Reader, req model.Request, told func(model.Delta)) (model.Reply, error) {
	var parts []chat.Part
	var usage chat.Usage
	for lines := bufio.NewScanner(body); lines.Scan(); {
		what, text, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "tell":
			parts = append(parts, chat.Part{Kind: chat.PartText, Text: text})
			usage.Input, usage.Output = 10, usage.Output+1
			if told != nil {
				told(model.Delta{Kind: chat.PartText, Text: text})
			}
		case "model":
			req.Model = text
		case "cost":
			usage.Cost = int64(len(text))
		case "end":
			return model.Reply{Parts: parts, Stop: model.StopEnd, Model: req.Model, Usage: usage}, nil
		default:
			return model.Reply{}, &model.Error{Kind: chat.ErrorKind(what), Message: "broke off", Usage: usage}
		}
	}
	return model.Reply{}, &model.Error{Kind: chat.KindNetwork, Message: "cut off", Usage: usage}
}

// after reads Retry-After in its two forms.
func after(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return time.Until(date)
	}
	return 0
}

func (p *provider) seen() []arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arrivals
}

// count counts the arrivals that got a status.
func (p *provider) count(status int) (n int) {
	for _, a := range p.seen() {
		if a.Status == status {
			n++
		}
	}
	return n
}

func ok(arrival) (int, string) { return http.StatusOK, "" }

// perSecond allows so many requests in any second, and asks for a second of quiet otherwise.
func perSecond(limit int) func(arrival) (int, string) {
	var allowed []time.Time
	return func(a arrival) (int, string) {
		for len(allowed) > 0 && a.At.Sub(allowed[0]) >= time.Second {
			allowed = allowed[1:]
		}
		if len(allowed) >= limit {
			return http.StatusTooManyRequests, "1"
		}
		allowed = append(allowed, a.At)
		return http.StatusOK, ""
	}
}

// says makes a provider that answers each request with the next of these bodies; a number is a
// status.
func says(t *testing.T, bodies ...string) *provider {
	t.Helper()
	statuses := map[string]int{"401": http.StatusUnauthorized, "503": http.StatusServiceUnavailable}
	p := newProvider(t, func(arrival) (int, string) {
		if len(bodies) == 0 {
			t.Error("asked more often than expected")
			return http.StatusBadRequest, ""
		}
		if status := statuses[bodies[0]]; status != 0 {
			bodies = bodies[1:]
			return status, "9"
		}
		return http.StatusOK, ""
	})
	p.body = func(a arrival) string {
		if a.Status != http.StatusOK || len(bodies) == 0 {
			return ""
		}
		body := bodies[0]
		bodies = bodies[1:]
		return body
	}
	t.Cleanup(func() {
		if len(bodies) > 0 {
			t.Errorf("never asked for %q", bodies)
		}
	})
	return p
}
