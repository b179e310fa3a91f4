package remote

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// begin begins a conversation with a message.
func begin(t *testing.T, s *Server, text string) string {
	t.Helper()
	opened, err := s.Create(t.Context(), wire.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Say(t.Context(), opened.ID, "key-of-"+opened.ID, text); err != nil {
		t.Fatal(err)
	}
	return opened.ID
}

// TestTheInboxIsDecided finds what waits by the beginning of its id and settles it.
func TestTheInboxIsDecided(t *testing.T) {
	s := serverOf(apitest.StartPlaying(t, nil), apitest.Token)
	asks, declines, wants := begin(t, s, "ask"), begin(t, s, "ask"), begin(t, s, "shell")
	items, err := s.Waits(t.Context())
	if err != nil || len(items) != 3 {
		t.Fatalf("%v: %+v", err, items)
	}
	in := map[string]Waiting{}
	for _, item := range items {
		in[item.Conversation] = item
		found, err := Find(items, item.ID[:8])
		if err != nil || found.Conversation != item.Conversation || len(item.ID) != inboxID {
			t.Errorf("%s: %v, %+v", item.ID, err, found)
		}
	}
	question, call := in[asks], in[wants]
	if question.Text != "Which colour?" || len(question.Options) != 2 || question.Agent != "main" || question.Role != "main" || question.At.IsZero() {
		t.Errorf("the question is %+v", question)
	}
	if call.Tool != "shell" || call.Pattern != "rm *" || Shown(call.Pending) != `{"command":"rm a"}` {
		t.Errorf("the call is %+v", call)
	}
	changed := call.Pending
	changed.Hash = "another"
	if err := s.Settle(t.Context(), wants, changed, wire.Decision{Allow: true}); err == nil {
		t.Error("a call was allowed that nobody was shown")
	}
	err = errors.Join(s.Answer(t.Context(), asks, question.Question, Chosen(question.Pending, "1")), s.Decline(t.Context(), declines, in[declines].Question),
		s.Settle(t.Context(), wants, call.Pending, wire.Decision{Allow: true, Scope: ScopeTask}))
	if err != nil {
		t.Fatal(err)
	}
	for conversation, want := range map[string]string{asks: "You said red", declines: "You said " + declined, wants: "It was allowed task."} {
		tree := progress.New(conversation, "")
		err := s.Recall(t.Context(), conversation, 0, func(page wire.History) bool {
			for _, e := range page.Events {
				tree.Apply(e)
			}
			return true
		})
		if end, ended := tree.Ended(began); err != nil || !ended || end.Answer != want {
			t.Errorf("%v: %+v, want %q", err, end, want)
		}
	}
	if items, err = s.Waits(t.Context()); err != nil || len(items) != 0 {
		t.Errorf("%v: still waiting: %+v", err, items)
	}
}

func TestFind(t *testing.T) {
	items := []Waiting{{ID: "3f9a00000000"}, {ID: "3f9b00000000"}}
	for id, code := range map[string]chat.Code{"": chat.CodeNotFound, "81": chat.CodeNotFound, "3f9": chat.CodeInvalid} {
		if _, err := Find(items, id); chat.CodeOf(err) != code {
			t.Errorf("%q: %v, want code %s", id, err, code)
		}
	}
	if found, err := Find(items, "3f9b"); err != nil || found.ID != items[1].ID {
		t.Errorf("%v: %+v", err, found)
	}
}

// TestWords shows titles, numbers of options, and the arguments of a call that strangers may have
// written.
func TestWords(t *testing.T) {
	if title := Title("\n  Über\nmore"); title != "Über" {
		t.Errorf("the title is %q", title)
	}
	if title := Title(strings.Repeat("ü", 200)); title != strings.Repeat("ü", titleWidth) {
		t.Errorf("the title is %q", title)
	}
	p := progress.Pending{Options: []string{"red"}, Text: strings.Repeat("x", 3000)}
	for said, want := range map[string]string{"1": "red", "0": "0", "2": "2", "red": "red"} {
		if got := Chosen(p, said); got != want {
			t.Errorf("%s is %s, want %s", said, got, want)
		}
	}
	if len(Shown(p)) >= 3000 {
		t.Error("the arguments are not cut")
	}
	p.Sources = []wire.Source{{Kind: "web", Name: "example.com"}}
	if len(Shown(p)) < 3000 {
		t.Error("a part of what strangers may have written is not shown")
	}
}

// TestErrorsSayWhatToDo shows the errors of a server that refuses, and of none.
func TestErrorsSayWhatToDo(t *testing.T) {
	live := apitest.StartPlaying(t, nil)
	_, err := serverOf(live, "rtl_of_another").Waits(t.Context())
	if chat.CodeOf(err) != chat.CodeDenied || !strings.Contains(err.Error(), "the server at "+live.URL+" refuses the key: ") {
		t.Errorf("got %v", err)
	}
	err = serverOf(live, apitest.Token).Answer(t.Context(), "none", "q", "red")
	if chat.CodeOf(err) != chat.CodeNotFound || strings.Contains(err.Error(), live.URL) {
		t.Errorf("got %v", err)
	}
	err = serverOf(live, apitest.Token).Answer(t.Context(), "none", "q", "")
	if chat.CodeOf(err) != chat.CodeInvalid || !strings.Contains(err.Error(), "length") || strings.Contains(err.Error(), "openapi") {
		t.Errorf("a person is told what is said to programs: %v", err)
	}
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	away := &Server{Client: &client.Client{BaseURL: nobody.URL, Key: apitest.Token, Attempts: 1}, Address: nobody.URL}
	if _, err = away.Waits(t.Context()); chat.CodeOf(err) != chat.CodeUnavailable || !strings.Contains(err.Error(), "check the address and whether it runs") {
		t.Errorf("got %v", err)
	}
	away.Address = ""
	if _, err = away.Waits(t.Context()); chat.CodeOf(err) != chat.CodeUnavailable || strings.Contains(err.Error(), "check the address") {
		t.Errorf("a server of this process has no address: %v", err)
	}
}
