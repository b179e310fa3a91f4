package journaltest

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// tenants makes two tenants with the same ids and others, and asks for everything under the wrong
// name: 10,000 attempts over every method of the port.
//
// Covers: P21, P22, E-119.
func tenants(t *testing.T, f Fixture) {
	sub := journal.In{Agent: "root/1.0.0", Task: "root/1.0.0"}
	fillTenant := func(tenant string) {
		at := journal.Ref{Tenant: tenant, Conversation: tenant + "-talk"}
		rows := slices.Concat(opening(), []journal.Row{
			journal.MessageReceived{ID: "m", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "secret of " + tenant}}},
			journal.Stepped{In: root, N: 1, Event: []byte(`{}`)},
			journal.Stepped{In: root, N: 2, Event: []byte(`{}`)},
			journal.QuestionRelayed{In: root, Question: "q"},
			journal.NoteAdded{In: root, Serial: 1, Note: "note of " + tenant},
			journal.ModelCalled{In: root, Call: "1.1", Model: "model of " + tenant},
			journal.TaskAssigned{In: sub, Parent: "root", Role: "role of " + tenant, Depth: 1},
			journal.TaskEnded{In: sub, Status: chat.StatusCompleted},
		})
		write(t, f.Log, at, rows...)
		write(t, f.Log, journal.Ref{Tenant: tenant, Conversation: "same"}, rows...)
		gone := journal.Ref{Tenant: tenant, Conversation: tenant + "-gone"}
		write(t, f.Log, gone, opening()...)
		if err := f.Log.Erase(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		if err := f.Log.Keep(t.Context(), at, "prompt of "+tenant); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Log.Reserve(t.Context(), tenant, "month of "+tenant, 7, 7); err != nil {
			t.Fatal(err)
		}
	}
	fillTenant("acme")
	fillTenant("zeta")
	attempts := attempts()
	for _, missing := range methodsWithout(attempts) {
		t.Errorf("no cross-tenant attempt for %s", missing)
	}
	names := make([]string, 0, len(attempts))
	for name := range attempts {
		names = append(names, name)
	}
	slices.Sort(names)
	const total, at = 10_000, 8
	var leaks atomic.Int64
	var wg sync.WaitGroup
	for worker := range at {
		wg.Go(func() {
			chance := rand.New(rand.NewPCG(1, uint64(worker)))
			for range total / at {
				name := names[chance.IntN(len(names))]
				mine, theirs := "acme", "zeta"
				if chance.IntN(2) == 0 {
					mine, theirs = theirs, mine
				}
				n, err := attempts[name](t.Context(), f.Log, mine, theirs)
				if err != nil && chat.CodeOf(err) != chat.CodeNotFound {
					t.Errorf("%s: %v", name, err)
				}
				leaks.Add(int64(n))
			}
		})
	}
	wg.Wait()
	if n := leaks.Load(); n > 0 {
		t.Errorf("%d of %d attempts returned something of another tenant", n, total)
	}
	for _, tenant := range []string{"acme", "zeta"} {
		if n := len(all(t, f.Log, journal.Ref{Tenant: tenant, Conversation: tenant + "-talk"})); n != 10 {
			t.Errorf("%s has %d entries left, want 10", tenant, n)
		}
	}
}

// attempts maps each method of the port to an attempt to get at another tenant's things with it.
// It returns how many things came back.
func attempts() map[string]func(ctx context.Context, l journal.Log, mine, theirs string) (int, error) {
	at := func(mine, theirs string) journal.Ref {
		return journal.Ref{Tenant: mine, Conversation: theirs + "-talk"}
	}
	foreign := func(texts []string, theirs string) (n int) {
		for _, text := range texts {
			if strings.Contains(text, theirs) {
				n++
			}
		}
		return n
	}
	type ctx = context.Context
	return map[string]func(ctx, journal.Log, string, string) (int, error){
		"Append": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			w, err := l.Append(c, at(mine, theirs), start, journal.MessageReceived{ID: "m", By: "eve"})
			return len(w), err
		},
		"Reserve": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			ok, err := l.Reserve(c, mine, "month of "+theirs, 1, 0)
			if ok {
				return 1, err
			}
			return 0, err
		},
		"Spent": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			spent, err := l.Spent(c, mine, "month of "+theirs)
			return int(spent), err
		},
		"Stored": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			bytes, err := l.Stored(c, mine+" beside "+theirs)
			return int(bytes), err
		},
		"Keep": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			return 0, l.Keep(c, at(mine, theirs), "prompt of nobody")
		},
		"Erase": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			if err := l.Erase(c, at(mine, theirs)); err != nil {
				return 0, err
			}
			return 1, nil
		},
		"Erased": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			if _, err := l.Erased(c, journal.Ref{Tenant: mine, Conversation: theirs + "-gone"}); err != nil {
				return 0, err
			}
			return 1, nil
		},
		"Weight": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			w, err := l.Weight(c, at(mine, theirs))
			return int(w.Rows + w.Texts), err
		},
		"Untouched": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Untouched(c, mine, time.Now().Add(time.Hour), "", 10)
			return foreign(out, theirs), err
		},
		"Entries": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Entries(c, at(mine, theirs), 0, 10)
			return len(out), err
		},
		"Find": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Find(c, at(mine, theirs), "received/m", "opened")
			return len(out), err
		},
		"Mail": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Mail(c, at(mine, theirs), "root")
			return len(out), err
		},
		"Mailboxes": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Mailboxes(c, at(mine, theirs))
			return len(out), err
		},
		"Steps": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Steps(c, at(mine, theirs), "root", 0)
			return len(out), err
		},
		"Transcript": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Transcript(c, at(mine, theirs), "root", journal.Page{})
			return len(out), err
		},
		"Chat": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Chat(c, at(mine, theirs), journal.Page{})
			return len(out), err
		},
		"Marks": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Marks(c, at(mine, theirs), journal.Page{})
			return len(out), err
		},
		"ModelCalls": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.ModelCalls(c, at(mine, theirs), "root", journal.Page{})
			return len(out), err
		},
		"ToolCalls": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.ToolCalls(c, at(mine, theirs), "root", journal.Page{})
			return len(out), err
		},
		"Snapshot": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Snapshot(c, at(mine, theirs))
			return len(out.Agents), err
		},
		"Records": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Records(c, at(mine, theirs))
			return len(out), err
		},
		"Conversations": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Conversations(c, mine, journal.Page{})
			var ids []string
			for _, o := range out {
				ids = append(ids, o.ID)
			}
			return foreign(ids, theirs), err
		},
		"Tails": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Tails(c, mine, theirs+"-talk")
			return len(out), err
		},
		"Lines": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Lines(c, mine, theirs+"-talk")
			return len(out), err
		},
		"Inbox": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Inbox(c, mine, 0)
			var ids []string
			for _, o := range out {
				ids = append(ids, o.Conversation)
			}
			return foreign(ids, theirs), err
		},
		"Search": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Search(c, mine, journal.Query{Words: "secret", SubAgents: true})
			var texts []string
			for _, o := range out {
				texts = append(texts, o.Text)
			}
			return foreign(texts, theirs), err
		},
		"Usage": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			named, err := l.Usage(c, mine, journal.UsageQuery{Conversation: theirs + "-talk"})
			if err != nil {
				return 0, err
			}
			all, err := l.Usage(c, mine, journal.UsageQuery{By: journal.UsageByModel})
			var models []string
			for _, u := range all {
				models = append(models, u.Name)
			}
			return len(named) + foreign(models, theirs), err
		},
		"Tasks": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			named, err := l.Tasks(c, mine, journal.TaskQuery{Conversation: theirs + "-talk"})
			if err != nil {
				return 0, err
			}
			all, err := l.Tasks(c, mine, journal.TaskQuery{})
			var ids []string
			for _, t := range all {
				ids = append(ids, t.Conversation)
			}
			return len(named) + foreign(ids, theirs), err
		},
		"Runs": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			all, err := l.Runs(c, mine, start.Add(-time.Hour))
			var roles []string
			for _, r := range all {
				roles = append(roles, r.Role)
			}
			return foreign(roles, theirs), err
		},
		"Text": func(c ctx, l journal.Log, mine, theirs string) (int, error) {
			out, err := l.Text(c, at(mine, theirs), journal.HashOf("prompt of "+theirs))
			return len(out), err
		},
		"Pending": func(c ctx, l journal.Log, _, _ string) (int, error) {
			out, err := l.Pending(c, start.Add(time.Hour), 10)
			return len(out), err
		},
		"Arrived": func(c ctx, l journal.Log, _, _ string) (int, error) {
			out, err := l.Arrived(c, start.Add(-time.Hour), 10)
			return len(out), err
		},
		"Working": func(c ctx, l journal.Log, _, _ string) (int, error) {
			out, err := l.Working(c, start.Add(time.Hour), journal.WorkingTask{}, 10)
			return len(out), err
		},
	}
}

// methodsWithout lists the methods of the port that a table leaves out.
func methodsWithout[F any](table map[string]F) (missing []string) {
	port := reflect.TypeFor[journal.Log]()
	for i := range port.NumMethod() {
		if _, ok := table[port.Method(i).Name]; !ok {
			missing = append(missing, port.Method(i).Name)
		}
	}
	return missing
}
