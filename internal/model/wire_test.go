package model_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/anthropic"
	"github.com/retinue-dev/retinue/internal/model/openai"
)

const testKey = "sk-test-canary-0001"

// wire is one protocol, with the adapter that speaks it.
type wire struct {
	name string
	key  string
	make func(key, base string, through *http.Client) (model.Client, error)
}

var wires = []wire{
	{"anthropic", testKey, func(key, base string, through *http.Client) (model.Client, error) {
		return anthropic.New(anthropic.Options{Key: key, BaseURL: base, HTTP: through})
	}},
	{"openai", testKey, func(key, base string, through *http.Client) (model.Client, error) {
		return openai.New(openai.Options{Key: key, BaseURL: base + "/v1", HTTP: through})
	}},
}

// dial makes a client for a server.
func (w wire) dial(t testing.TB, base string) model.Client {
	t.Helper()
	return must(w.make(w.key, base, nil))(t)
}

// through makes a client whose requests end in an HTTP client of the test's.
func (w wire) through(t testing.TB, client *http.Client) model.Client {
	t.Helper()
	return must(w.make(w.key, "http://provider.test", client))(t)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// ask sends one request through the real SDK to a server that answers with a handler.
func (w wire) ask(
	t testing.TB, req model.Request, handle http.HandlerFunc, told func(model.Delta),
) (model.Reply, error) {
	t.Helper()
	server := serve(t, handle)
	return w.dial(t, server.URL).Generate(t.Context(), req, told)
}

// serve starts a server for the length of a test. It reads a request to its end first, so that it
// notices when the client goes away.
func serve(t testing.TB, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// answer writes literal bytes as a stream and ends it cleanly.
func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = w.Write([]byte(body))
	}
}

// refusal answers with a status, headers in the form "Name: value", and a body.
func refusal(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// fixture reads a recorded stream.
func (w wire) fixture(t testing.TB, name string) string {
	t.Helper()
	return string(must(os.ReadFile(filepath.Join("testdata", w.name, name+".sse")))(t))
}

// request is a request that every provider takes.
func request() model.Request {
	return model.Request{
		Model: "m-1", Turn: 7, MaxOutput: 1024,
		Tools: []model.Tool{
			{
				Name: "list", Description: "Lists files.",
				Schema: []byte(`{"type":"object","properties":{"dir":{"type":"string"}}}`),
			},
			{
				Name: "read", Description: "Reads a file.",
				Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
			},
		},
		Transcript: chat.Transcript{
			{ID: "m1", Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: "Hi."}}},
		},
	}
}

// show writes the end of a call down, all of it but the times, for comparison.
func show(r model.Reply, err error) string {
	var b strings.Builder
	var e *model.Error
	switch {
	case errors.As(err, &e):
		fmt.Fprintf(&b, "error %s", e.Kind)
		if e.Status != 0 {
			fmt.Fprintf(&b, " %d", e.Status)
		}
		if e.RetryAfter != 0 {
			fmt.Fprintf(&b, " after %s", e.RetryAfter)
		}
		if e.Usage != (chat.Usage{}) {
			fmt.Fprintf(&b, " used %d", e.Usage.Tokens())
		}
		if e.Unmetered {
			b.WriteString(" unmetered")
		}
		return b.String()
	case err != nil:
		return "untyped error " + err.Error()
	}
	fmt.Fprintf(&b, "%s %s %s %s", r.Stop, r.ID, r.Model, usage(r))
	for _, p := range r.Parts {
		switch p.Kind {
		case chat.PartToolUse:
			fmt.Fprintf(&b, "\n%s %s %s", p.Call, p.Tool, p.Args)
		case chat.PartText, chat.PartThinking, chat.PartImage, chat.PartToolResult:
			fmt.Fprintf(&b, "\n%s %q", p.Kind, p.Text)
		}
		if p.Seal != "" {
			fmt.Fprintf(&b, " sealed %s", p.Seal)
		}
	}
	if len(r.Malformed) > 0 {
		fmt.Fprintf(&b, "\nmalformed %s", strings.Join(r.Malformed, " "))
	}
	return b.String()
}

func usage(r model.Reply) string {
	out := fmt.Sprintf("%d+%d", r.Usage.Input, r.Usage.Output)
	for _, n := range []struct {
		name  string
		value int64
	}{{"read", r.Usage.CacheRead}, {"written", r.Usage.CacheWrite}, {"reasoning", r.Usage.Reasoning}} {
		if n.value != 0 {
			out += fmt.Sprintf(" %s %d", n.name, n.value)
		}
	}
	if r.Estimated {
		out += " estimated"
	}
	return out
}

// hang writes the start of a stream and then nothing until the client goes away.
func hang(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if body != "" {
			answer(body)(w, r)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

// abort writes the start of a stream and cuts the connection.
func abort(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer(body)(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}
