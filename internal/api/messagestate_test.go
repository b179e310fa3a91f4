package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// states are the states of the messages that people posted, as a route lists them.
func states(t *testing.T, s *apitest.Server, path string) map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer a/ann")
	res, err := http.DefaultClient.Do(req)
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
	s, ref := apitest.Crowded(t, journaltest.NewMemory(), nil), journal.Ref{Tenant: "a", Conversation: "c1"}
	write := func(rows ...journal.Row) {
		t.Helper()
		if _, err := s.Log.Append(t.Context(), ref, time.Now(), rows...); err != nil {
			t.Fatal(err)
		}
	}
	write(journal.Opened{By: "ann", Title: "talk"}, journal.TaskAssigned{In: mainTask, Role: "main"})
	says := func(id string) journal.Row {
		return journal.MessageReceived{ID: id, By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: id}}}
	}
	heard := func(id string) journal.Row { return journal.MailDelivered{ID: "message:" + id} }
	reads := func(id string, numbers ...int64) journal.Row {
		return journal.MessageAdded{In: mainTask, Reads: numbers, Message: chat.Message{ID: id, Speaker: chat.User}}
	}
	check := func(want map[string]string) {
		t.Helper()
		for _, path := range []string{"/v1/conversations/c1", "/v1/conversations/c1/messages"} {
			if diff := cmp.Diff(want, states(t, s, path)); diff != "" {
				t.Errorf("%s: states (+) against the wanted (-):\n%s", path, diff)
			}
		}
	}
	for _, id := range []string{"m1", "m2", "m3", "m4"} {
		write(says(id), journal.MailPosted{ID: "message:" + id, Topic: "message"})
	}
	write(journal.StatusChanged{In: mainTask, Serial: 1, Status: chat.StatusRunning})
	check(map[string]string{"m1": "received", "m2": "received", "m3": "received", "m4": "received"})
	write(heard("m1"), heard("m2"), heard("m3"), reads("u1", 1))
	check(map[string]string{"m1": "read", "m2": "delivered", "m3": "delivered", "m4": "received"})
	write(journal.QuestionAsked{In: mainTask, Question: "q", Text: "?"}, journal.QuestionAnswered{In: mainTask, Question: "q", By: "user", Number: 3})
	check(map[string]string{"m1": "read", "m2": "delivered", "m3": "read", "m4": "received"})
	stream := bufio.NewScanner(s.Open(t, "/v1/conversations/c1/events?after=17").Body)
	write(reads("u2", 2))
	var got struct {
		Type string
		Data struct{ Reads []int64 }
	}
	for got.Type == "" && stream.Scan() {
		if data, ok := strings.CutPrefix(stream.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &got); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got.Type != "message.completed" || !slices.Equal(got.Data.Reads, []int64{2}) {
		t.Errorf("the event is %v, want one that reads message 2", got)
	}
	check(map[string]string{"m1": "read", "m2": "read", "m3": "read", "m4": "received"})
	write(heard("m4"), journal.StatusChanged{In: mainTask, Serial: 2, Status: chat.StatusCompleted})
	check(map[string]string{"m1": "read", "m2": "read", "m3": "read", "m4": "delivered"})
	write(reads("u3", 4))
	check(map[string]string{"m1": "read", "m2": "read", "m3": "read", "m4": "read"})
}
