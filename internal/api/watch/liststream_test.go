package watch_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

const listEvents = "/v1/events"

// gist is what one event of a list says, in short.
func gist(l line) string {
	data := l.Data
	switch l.Type {
	case "conversation.updated":
		c, _ := data["conversation"].(map[string]any)
		return fmt.Sprintf("%v seq %v archived %v waiting %v running %v", c["id"], c["seq"], c["archived"], data["waiting"], data["running"])
	case "conversation.removed":
		return fmt.Sprintf("%v is gone", data["conversation"])
	case "inbox.added":
		item, _ := data["item"].(map[string]any)
		question, _ := item["question"].(map[string]any)
		return fmt.Sprintf("%v asks %v", item["conversation"], question["text"])
	case "inbox.removed":
		return fmt.Sprintf("%v no longer asks %v%v", data["conversation"], data["question"], data["approval"])
	}
	return l.Type
}

// expect reads events until a list has told all of these, in order.
func (l *listener) expect(t *testing.T, want ...string) (last string) {
	t.Helper()
	for _, w := range want {
		got := l.next(t)
		for ; gist(got) != w; got = l.next(t) {
			if got.Type != "conversation.updated" { // states between may come
				t.Fatalf("got %q, want %q", gist(got), w)
			}
		}
		last = got.ID
	}
	return last
}

func at(conversation string) journal.Ref {
	return journal.Ref{Tenant: "acme", Conversation: conversation}
}

// TestListStream watches a list: what is new, what asks, what is archived and what is gone.
func TestListStream(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		s := newStation(t, 20*time.Millisecond)
		s.open(t, at("c1"))
		l := s.listen(t, "acme", listEvents, "")
		if got := l.next(t); got.Type != "resync" || got.ID == "" {
			t.Fatalf("it begins with %v, want a resync", got)
		}
		s.log.silent.Store(silent)
		s.open(t, at("c2"))
		l.expect(t, "c2 seq 2 archived false waiting 0 running 1")
		s.write(t, at("c1"), journal.QuestionAsked{In: root, Question: "q1", Text: "Why?"}, journal.QuestionRelayed{In: root, Question: "q1"})
		l.expect(t, "c1 seq 4 archived false waiting 1 running 1", "c1 asks Why?")
		s.write(t, at("c1"), journal.QuestionAnswered{In: root, Question: "q1", By: "user", Text: "So."},
			journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusWaiting})
		l.expect(t, "c1 seq 6 archived false waiting 0 running 0", "c1 no longer asks q1<nil>")
		s.write(t, at("c2"), journal.Archived{By: "ann"})
		l.expect(t, "c2 seq 3 archived true waiting 0 running 1")
		if err := s.log.Erase(t.Context(), at("c2")); err != nil {
			t.Fatal(err)
		}
		l.expect(t, "c2 is gone")
	}
}

// TestListStreamResumes leaves and comes back: the last state of everything that changed is told,
// once.
func TestListStreamResumes(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	stays := s.listen(t, "acme", listEvents, "") // keeps the board alive
	stays.next(t)
	l := s.listen(t, "acme", listEvents, "")
	l.next(t)
	s.open(t, at("c1"))
	last := l.expect(t, "c1 seq 2 archived false waiting 0 running 1")
	l.close()
	stays.expect(t, "c1 seq 2 archived false waiting 0 running 1")
	for n := range 3 {
		s.write(t, at("c1"), note(n))
		stays.expect(t, fmt.Sprintf("c1 seq %d archived false waiting 0 running 1", n+3))
	}
	s.open(t, at("c2"))
	stays.expect(t, "c2 seq 2 archived false waiting 0 running 1")
	back := s.listen(t, "acme", listEvents, last)
	got := []string{gist(back.next(t)), gist(back.next(t))}
	want := []string{"c1 seq 5 archived false waiting 0 running 1", "c2 seq 2 archived false waiting 0 running 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who came back was told (+) against the wanted (-):\n%s", diff)
	}
	if got := s.listen(t, "acme", listEvents, "another.7").next(t); got.Type != "resync" {
		t.Errorf("an id of another server gives %v", got)
	}
}

// TestListStreamOfAnother watches a list while another tenant's conversations change.
func TestListStreamOfAnother(t *testing.T) {
	t.Parallel()
	s := newStation(t, 20*time.Millisecond)
	l := s.listen(t, "zeta", listEvents, "")
	if l.body.StatusCode != http.StatusOK {
		t.Fatal(l.body.Status)
	}
	l.next(t)
	s.open(t, at("c1"))
	s.write(t, at("c1"), journal.QuestionAsked{In: root, Question: "q", Text: "?"}, journal.QuestionRelayed{In: root, Question: "q"})
	time.Sleep(500 * time.Millisecond)
	s.open(t, journal.Ref{Tenant: "zeta", Conversation: "own"})
	if got := gist(l.next(t)); got != "own seq 2 archived false waiting 0 running 1" {
		t.Errorf("got %q, want the tenant's own only", got)
	}
}

// TestPrivateConversationsInAList has ann and bob watch the list of their tenant while ann has a
// private conversation: bob hears of it, and of what waits in it, when it is shared, and not
// before.
func TestPrivateConversationsInAList(t *testing.T) {
	t.Parallel()
	s := newStation(t, 20*time.Millisecond)
	ann, bob := s.listen(t, "acme/ann", listEvents, ""), s.listen(t, "acme/bob", listEvents, "")
	ann.expect(t, "resync")
	first := bob.expect(t, "resync")
	s.write(t, at("secret"), journal.Opened{By: "ann", PrivateTo: "ann"}, journal.TaskAssigned{In: root, Role: "main"},
		journal.QuestionAsked{In: root, Question: "q1", Text: "Why?"}, journal.QuestionRelayed{In: root, Question: "q1"})
	ann.expect(t, "secret seq 4 archived false waiting 1 running 1", "secret asks Why?")
	s.open(t, at("open"))
	ann.expect(t, "open seq 2 archived false waiting 0 running 1")
	bob.expect(t, "open seq 2 archived false waiting 0 running 1")
	again := s.listen(t, "acme/bob", listEvents, first)
	again.expect(t, "open seq 2 archived false waiting 0 running 1")
	for _, l := range []*listener{bob, again} {
		if l.heard("secret") {
			t.Error("bob has heard of the private conversation")
		}
	}
	s.write(t, at("secret"), journal.Shared{By: "ann"})
	for _, l := range []*listener{bob, again} {
		l.expect(t, "secret seq 5 archived false waiting 1 running 1", "secret asks Why?")
	}
}
