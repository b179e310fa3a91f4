package apitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/apitest"
)

// TestWatch gives answers, streams among them, some of which break the promise and some of which
// are cut off.
func TestWatch(t *testing.T) {
	t.Parallel()
	contract := apitest.Start(t, nil).Contract
	const (
		me    = `{"tenant":"local","user":"ann","name":"ann","role":"owner","scopes":["read"]}`
		moved = `"ts":"2026-01-02T03:04:05Z","conversation":"c","agent_path":"main","task":"main"`
	)
	event := func(name, kind, data string) string {
		return fmt.Sprintf("id: 7\nevent: %s\ndata: {\"seq\":7,\"type\":%q,%s,\"data\":%s}\n\n", name, kind, moved, data)
	}
	good := event("agent.settled", "agent.settled", `{"status":"completed"}`)
	tests := map[string]struct {
		path, kind, body string
		// length is what the answer says that it has; more than it has means that it is cut off.
		length int
		broken bool
		counts apitest.Counts
	}{
		"whole":           {"/v1/me", "application/json", me, len(me), false, apitest.Counts{Answers: 1}},
		"cut off":         {"/v1/me", "application/json", me[:20], len(me), false, apitest.Counts{}},
		"broken":          {"/v1/me", "application/json", me[:20], 20, true, apitest.Counts{Answers: 1}},
		"broken, cut off": {"/v1/me", "text/html", me[:20], len(me), true, apitest.Counts{Answers: 1}},
		"no promise":      {"/healthz", "text/html", "fine", 4, false, apitest.Counts{}},
		"events":          {"/v1/conversations/c/events", "text/event-stream", ": hello\n\n" + good + good, 0, false, apitest.Counts{Answers: 1, Events: 2}},
		"an event cut off": {
			"/v1/conversations/c/events", "text/event-stream", good + good[:len(good)-10], 0, false,
			apitest.Counts{Answers: 1, Events: 1},
		},
		"an event of no type": {
			"/v1/conversations/c/events", "text/event-stream", good + event("agent.slept", "agent.slept", "{}"), 0, true,
			apitest.Counts{Answers: 1, Events: 2},
		},
		"an event by another name": {
			"/v1/conversations/c/events", "text/event-stream", event("agent.queued", "agent.settled", `{"status":"completed"}`), 0, true,
			apitest.Counts{Answers: 1, Events: 1},
		},
		"an event with something else": {
			"/v1/conversations/c/events", "text/event-stream", event("agent.settled", "agent.settled", `{"state":"completed"}`), 0, true,
			apitest.Counts{Answers: 1, Events: 1},
		},
	}
	for name, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", test.kind)
			if test.length > 0 {
				w.Header().Set("Content-Length", fmt.Sprint(test.length))
			}
			_, _ = io.WriteString(w, test.body)
		}))
		var broken []string
		before := contract.Counts()
		client := &http.Client{Transport: contract.Watch(&http.Transport{}, func(err error) { broken = append(broken, err.Error()) })}
		response, err := client.Get(server.URL + test.path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body) // it may be cut off
		_ = response.Body.Close()
		server.Close()
		after := contract.Counts()
		got := apitest.Counts{Answers: after.Answers - before.Answers, Events: after.Events - before.Events}
		if diff := cmp.Diff(test.counts, got); diff != "" || (len(broken) > 0) != test.broken {
			t.Errorf("%s: broken %s; counts:\n%s", name, strings.Join(broken, "\n"), diff)
		}
	}
}
