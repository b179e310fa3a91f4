package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// states are the states of the messages that people posted, as a route lists them.
func (s *station) states(t *testing.T, path string) map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Tenant", "acme")
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read from only
	type message struct {
		ID, State, Speaker string
	}
	var body struct{ Items, Messages []message }
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range append(body.Items, body.Messages...) {
		if m.State != "" || m.Speaker == "user" {
			out[m.ID] = m.State
		}
	}
	return out
}

// TestMessageStates follows messages from the person to the model: one that opens a turn, one that
// steers, one that answers a question, and one of which nobody has heard.
func TestMessageStates(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	s.open(t, ref)
	says := func(id string) journal.Row {
		return journal.MessageReceived{ID: id, By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: id}}}
	}
	heard := func(id string) journal.Row { return journal.MailDelivered{ID: "message:" + id} }
	reads := func(id string, numbers ...int64) journal.Row {
		return journal.MessageAdded{In: root, Reads: numbers, Message: chat.Message{ID: id, Speaker: chat.User}}
	}
	check := func(want map[string]string) {
		t.Helper()
		for _, path := range []string{"/v1/conversations/c1", "/v1/conversations/c1/messages"} {
			if diff := cmp.Diff(want, s.states(t, path)); diff != "" {
				t.Errorf("%s: states (+) against the wanted (-):\n%s", path, diff)
			}
		}
	}
	for _, id := range []string{"m1", "m2", "m3", "m4"} {
		s.write(t, ref, says(id), journal.MailPosted{ID: "message:" + id, Topic: "message"})
	}
	s.write(t, ref, journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusRunning})
	check(map[string]string{"m1": "received", "m2": "received", "m3": "received", "m4": "received"})
	s.write(t, ref, heard("m1"), heard("m2"), heard("m3"), reads("u1", 1))
	check(map[string]string{"m1": "read", "m2": "delivered", "m3": "delivered", "m4": "received"})
	s.write(t, ref, journal.QuestionAsked{In: root, Question: "q", Text: "?"}, journal.QuestionAnswered{In: root, Question: "q", By: "user", Number: 3})
	check(map[string]string{"m1": "read", "m2": "delivered", "m3": "read", "m4": "received"})
	l := s.listen(t, "acme", events, "17")
	s.write(t, ref, reads("u2", 2))
	got := l.next(t)
	data, _ := got.Data["data"].(map[string]any)
	if got.Type != "message.completed" || !cmp.Equal(data["reads"], []any{2.0}) {
		t.Errorf("the event is %v, want one that reads message 2", got)
	}
	check(map[string]string{"m1": "read", "m2": "read", "m3": "read", "m4": "received"})
	s.write(t, ref, heard("m4"), journal.StatusChanged{In: root, Serial: 2, Status: chat.StatusCompleted})
	check(map[string]string{"m1": "read", "m2": "read", "m3": "read", "m4": "delivered"})
	s.write(t, ref, reads("u3", 4))
	check(map[string]string{"m1": "read", "m2": "read", "m3": "read", "m4": "read"})
}
