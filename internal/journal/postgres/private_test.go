//go:build services

package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestPrivateConversations makes every read for the person who began a conversation, for a
// colleague and for the program itself, before and after it is shared.
func TestPrivateConversations(t *testing.T) {
	t.Parallel()
	log := open(t, database(t))
	const tenant = "acme"
	main := journal.In{Agent: "main", Task: "main"}
	fill := func(id, owner string) journal.Ref {
		ref := journal.Ref{Tenant: tenant, Conversation: id}
		if _, err := log.Append(t.Context(), ref, time.Now(), journal.Opened{By: "ann", PrivateTo: owner},
			journal.TaskAssigned{In: main, Role: "main"},
			journal.MessageReceived{ID: "m", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "plums"}}},
			journal.ModelCalled{In: main, Call: "1", Model: "m"}, journal.ModelReplied{In: main, Call: "1", Model: "m"},
			journal.ApprovalRequested{In: main, Call: "1.0", Tool: "shell", Hash: "h"}); err != nil {
			t.Fatal(err)
		}
		return ref
	}
	secret := fill("secret", "u1")
	fill("open", "")
	reads := map[string]func(viewer string) (int, error){
		"conversations": func(v string) (int, error) {
			list, err := log.Conversations(journal.For(t.Context(), v), tenant, journal.Page{})
			return len(list), err
		},
		"tails": func(v string) (int, error) {
			list, err := log.Tails(journal.For(t.Context(), v), tenant, "secret", "open")
			return len(list), err
		},
		"lines": func(v string) (int, error) {
			list, err := log.Lines(journal.For(t.Context(), v), tenant, "secret", "open")
			return len(list), err
		},
		"inbox": func(v string) (int, error) {
			list, err := log.Inbox(journal.For(t.Context(), v), tenant, 10)
			return len(list), err
		},
		"search": func(v string) (int, error) {
			list, err := log.Search(journal.For(t.Context(), v), tenant, journal.Query{Words: "plums"})
			return len(list), err
		},
		"usage": func(v string) (int, error) {
			list, err := log.Usage(journal.For(t.Context(), v), tenant, journal.UsageQuery{By: journal.UsageByConversation})
			return len(list), err
		},
		"tasks": func(v string) (int, error) {
			list, err := log.Tasks(journal.For(t.Context(), v), tenant, journal.TaskQuery{Limit: 10})
			return len(list), err
		},
		"places": func(v string) (int, error) {
			n := 0
			for _, id := range []string{"secret", "open"} {
				ref := journal.Ref{Tenant: tenant, Conversation: id}
				_, err := log.Snapshot(journal.For(t.Context(), v), ref)
				_, err2 := log.Entries(journal.For(t.Context(), v), ref, 0, 10)
				_, err3 := log.Find(journal.For(t.Context(), v), ref, "opened")
				if chat.CodeOf(err) != chat.CodeOf(err2) || chat.CodeOf(err) != chat.CodeOf(err3) {
					return 0, errors.Join(errors.New("some reads find it and some do not"), err, err2, err3)
				}
				if err == nil {
					n++
				} else if chat.CodeOf(err) != chat.CodeNotFound {
					return 0, err
				}
			}
			return n, nil
		},
	}
	look := func(when string, want map[string]int) {
		for viewer, n := range want {
			for name, read := range reads {
				if got, err := read(viewer); err != nil || got != n {
					t.Errorf("%s: %s for %q: %d (%v), want %d", when, name, viewer, got, err, n)
				}
			}
		}
	}
	look("private", map[string]int{"": 2, "u1": 2, "u2": 1})
	if _, err := log.Append(t.Context(), secret, time.Now(), journal.Shared{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	look("shared", map[string]int{"": 2, "u1": 2, "u2": 2})
	if err := log.Erase(t.Context(), fill("again", "u1")); err != nil {
		t.Fatal(err)
	}
	look("erased", map[string]int{"": 2, "u2": 2})
}
