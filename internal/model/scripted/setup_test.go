package scripted

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"
)

// serve plays a script for the length of a test.
func serve(t *testing.T, script *Script, options Options) *Server {
	t.Helper()
	m, err := New(script, options)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen("127.0.0.1:0", m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func example(t *testing.T, name string) *Script {
	t.Helper()
	s, err := Example(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// always is a script with one answer.
func always(r Reply) *Script { return &Script{Name: "always", Default: &r} }

// got is a response as it came.
type got struct {
	status int
	header http.Header
	body   string
	err    error
}

// post sends a body over one wire with everything a client must send.
func post(t *testing.T, s *Server, p Provider, body string, change ...func(*http.Request)) got {
	t.Helper()
	url := s.AnthropicURL() + "/v1/messages"
	if p == OpenAI {
		url = s.OpenAIURL() + "/chat/completions"
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if p == Anthropic {
		req.Header.Set("X-Api-Key", "key-1")
		req.Header.Set("Anthropic-Version", "2023-06-01")
	} else {
		req.Header.Set("Authorization", "Bearer key-1")
	}
	for _, c := range change {
		c(req)
	}
	return do(req)
}

func do(req *http.Request) got {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return got{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, resp.Header, string(body), err}
}

// within changes a request so that its client leaves when ctx ends.
func within(ctx context.Context) func(*http.Request) {
	return func(r *http.Request) { *r = *r.WithContext(ctx) }
}

func to[T any](v T) *T { return &v }

const (
	anthropicHello = `{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"hello"}]}`
	openaiHello    = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
)

func hello(p Provider) string {
	if p == Anthropic {
		return anthropicHello
	}
	return openaiHello
}

func helloStream(p Provider) string {
	if p == Anthropic {
		return `{"model":"m","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hello"}]}`
	}
	return `{"model":"m","stream":true,"stream_options":{"include_usage":true},` +
		`"messages":[{"role":"user","content":"hello"}]}`
}

var providers = []Provider{Anthropic, OpenAI}

// asKey sends another API key, when there is one.
func asKey(key string) func(*http.Request) {
	return func(r *http.Request) {
		switch {
		case key == "":
		case r.Header.Get("X-Api-Key") != "":
			r.Header.Set("X-Api-Key", key)
		default:
			r.Header.Set("Authorization", "Bearer "+key)
		}
	}
}

// settled is the meter once nothing is under way.
func settled(t *testing.T, s *Server) Meter {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(time.Minute); ; <-look.C {
		m := s.Meter()
		if m.Running == 0 {
			return m
		}
		if time.Now().After(end) {
			t.Fatalf("%d requests never ended", m.Running)
		}
	}
}
