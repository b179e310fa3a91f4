package journaltest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// spending reserves from many callers at once, and ends some of the calls: never more is spent than
// there is, what was not used comes back once, and neither another tenant nor an import changes it.
func spending(t *testing.T, f Fixture) {
	ctx, month := t.Context(), journal.MonthOf(start)
	spent := func(tenant string) int64 {
		t.Helper()
		n, err := f.Log.Spent(ctx, tenant, month)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := spent("acme"); n != 0 {
		t.Fatalf("%d is spent before anything was", n)
	}
	var all sync.WaitGroup
	var granted atomic.Int64
	for range 40 {
		all.Go(func() {
			if ok, err := f.Log.Reserve(ctx, "acme", month, 30, 1000); err != nil {
				t.Error(err)
			} else if ok {
				granted.Add(1)
			}
		})
	}
	all.Wait()
	if granted.Load() != 33 || spent("acme") != 990 {
		t.Errorf("%d times 30 was reserved of 1000, and %d is spent; want 33 and 990", granted.Load(), spent("acme"))
	}
	end := func(where journal.Ref, call string, row journal.ModelReplied) {
		t.Helper()
		row.In, row.Call, row.Status, row.Month = root, call, chat.StatusCompleted, month
		for range 2 { // twice is once
			rows := []journal.Row{journal.ModelCalled{In: root, Call: call, Type: journal.RequestPrompt, HoldCost: 30}, row}
			if _, err := f.Log.Append(ctx, where, start.Add(time.Second), rows...); err != nil {
				t.Fatal(err)
			}
		}
	}
	open := func(where journal.Ref) {
		t.Helper()
		if _, err := f.Log.Append(ctx, where, start, journal.Opened{By: "ann"}, journal.TaskAssigned{In: root, Role: "main"}); err != nil {
			t.Fatal(err)
		}
	}
	brought := journal.Ref{Tenant: "acme", Conversation: journal.ImportPrefix + "1"}
	open(ref)
	open(brought)
	for _, c := range []struct {
		name  string
		where journal.Ref
		row   journal.ModelReplied
		want  int64
	}{
		{"a call that used less", ref, journal.ModelReplied{Reserved: 30, Usage: chat.Usage{Cost: 10}}, 970},
		{"a call that used more", ref, journal.ModelReplied{Reserved: 30, Usage: chat.Usage{Cost: 35}}, 975},
		{"a call of which nobody knows", ref, journal.ModelReplied{Reserved: 30, Unmetered: true}, 975},
		{"a call from before the budget", ref, journal.ModelReplied{Usage: chat.Usage{Cost: 10}}, 975},
		{"a call that was imported", brought, journal.ModelReplied{Reserved: 900, Usage: chat.Usage{Cost: 1}}, 975},
	} {
		end(c.where, c.name, c.row)
		if got := spent("acme"); got != c.want {
			t.Errorf("after %s %d is spent, want %d", c.name, got, c.want)
		}
	}
	if n := spent("zeta"); n != 0 {
		t.Errorf("another tenant has spent %d", n)
	}
	if ok, err := f.Log.Reserve(ctx, "acme", "2023-12", 1000, 1000); err != nil || !ok {
		t.Errorf("in another month it is %t, %v", ok, err)
	}
}
