package journal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
)

var (
	aRef = Ref{Tenant: "t", Conversation: "c"}
	root = In{Agent: "main", Task: "main"}
	sub  = In{Agent: "main/1.0.0", Task: "main/1.0.0"}
)

// appending is one append.
func appending(t *testing.T, rows ...Row) *Batch {
	t.Helper()
	b, err := NewBatch(aRef, time.UnixMilli(1_800_000_000_000).Add(700*time.Microsecond), rows)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// outcome is what a plan says of each row: its number in the list, if it is new, and the person's
// message that it is.
func outcome(p Plan) (written []string, inserted []string) {
	for _, batch := range p.Written {
		for _, w := range batch {
			written = append(written, fmt.Sprintf("%d/%d %t", w.Seq, w.Number, w.Existed))
		}
	}
	for _, n := range p.Insert {
		inserted = append(inserted, fmt.Sprintf("%d/%d %s", n.Seq, n.Number, n.Key))
	}
	return written, inserted
}

// TestPlans plans appends after some list, and compares the new rows and the answers to the
// writers.
func TestPlans(t *testing.T) {
	opened, assigned := Opened{By: "ann"}, TaskAssigned{In: root, Role: "lead"}
	said := func(id string) Row { return MessageReceived{ID: id, By: "ann"} }
	step := func(n int) Row { return Stepped{In: root, N: n} }
	list := map[string]Written{
		"opened": {Seq: 1, Existed: true}, "task/main": {Seq: 2, Existed: true}, "received/a": {Seq: 3, Number: 1, Existed: true}, "step/main#1": {Seq: 4, Existed: true},
	}
	for name, c := range map[string]struct {
		tail              Tail
		known             map[string]Written
		batches           [][]Row
		written, inserted []string
		end               Tail
	}{
		"the first": {
			batches: [][]Row{{opened, assigned, said("a")}}, written: []string{"1/0 false", "2/0 false", "3/1 false"},
			inserted: []string{"1/0 opened", "2/0 task/main", "3/1 received/a"}, end: Tail{Seq: 3, Number: 1},
		},
		"the same command twice in one transaction": {
			batches:  [][]Row{{opened, assigned, said("a")}, {opened, said("b"), said("a")}},
			written:  []string{"1/0 false", "2/0 false", "3/1 false", "1/0 true", "4/2 false", "3/1 true"},
			inserted: []string{"1/0 opened", "2/0 task/main", "3/1 received/a", "4/2 received/b"}, end: Tail{Seq: 4, Number: 2},
		},
		"after a list": {
			tail: Tail{Seq: 4, Number: 1}, known: list, batches: [][]Row{{said("b"), step(2), StatusChanged{In: root, Serial: 1}}},
			written: []string{"5/2 false", "6/0 false", "7/0 false"}, inserted: []string{"5/2 received/b", "6/0 step/main#2", "7/0 status/main#1"}, end: Tail{Seq: 7, Number: 2},
		},
		"a step that another recorded takes what was to follow it along": {
			tail: Tail{Seq: 4, Number: 1}, known: list, batches: [][]Row{{StatusChanged{In: root, Serial: 1}, step(1), said("b")}, {said("d")}},
			written: []string{"0/0 false", "4/0 true", "0/0 false", "5/2 false"}, inserted: []string{"5/2 received/d"}, end: Tail{Seq: 5, Number: 2},
		},
		"a sub-agent and what it does": {
			tail: Tail{Seq: 4, Number: 1}, known: list, batches: [][]Row{{TaskAssigned{In: sub, Parent: "main", Depth: 1, Role: "helper"}, StatusChanged{In: sub, Serial: 1}}},
			written: []string{"5/0 false", "6/0 false"}, inserted: []string{"5/0 task/main/1.0.0", "6/0 status/main/1.0.0#1"}, end: Tail{Seq: 6, Number: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			known := map[string]Written{}
			for key, w := range c.known {
				known[key] = w
			}
			var batches []*Batch
			for _, rows := range c.batches {
				batches = append(batches, appending(t, rows...))
			}
			plan, err := NewPlan(c.tail, known, batches)
			if err != nil {
				t.Fatal(err)
			}
			written, inserted := outcome(plan)
			if diff := cmp.Diff([]any{c.written, c.inserted, c.end, time.UnixMilli(1_800_000_000_000).UTC()}, []any{written, inserted, plan.Tail, plan.At}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlansRefuseWhatFollowsNothing has rows that cannot follow the list.
func TestPlansRefuseWhatFollowsNothing(t *testing.T) {
	known := func() map[string]Written {
		return map[string]Written{"opened": {Seq: 1}, "task/main": {Seq: 2}}
	}
	for name, c := range map[string]struct {
		row  Row
		tail Tail
		code chat.Code
		want string
	}{
		"before the conversation": {row: MessageReceived{ID: "a"}, code: chat.CodeNotFound, want: "there is no such conversation"},
		"about a task of nobody":  {row: StatusChanged{In: sub, Serial: 1}, tail: Tail{Seq: 2}, code: chat.CodeInvalid, want: `row "status/main/1.0.0#1": there is no "task/main/1.0.0" that it could follow`},
		"a later task of nobody": {
			row: TaskAssigned{In: In{Agent: sub.Agent, Task: "main/1.0.0+1"}, Parent: "main", Depth: 1, Role: "helper"}, tail: Tail{Seq: 2},
			code: chat.CodeInvalid, want: `row "task/main/1.0.0+1": there is no "task/main/1.0.0" that it could follow`,
		},
		"a task for nobody": {
			row: TaskAssigned{In: In{Agent: "other/1.0.0", Task: "other/1.0.0"}, Parent: "other", Depth: 1, Role: "helper"}, tail: Tail{Seq: 2},
			code: chat.CodeInvalid, want: `row "task/other/1.0.0": there is no "task/other" that it could follow`,
		},
	} {
		_, err := NewPlan(c.tail, known(), []*Batch{appending(t, c.row)})
		if chat.CodeOf(err) != c.code || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestPlansSayWhatTheTablesGain has the changes of two rows, of which one was known: it changes
// nothing again.
func TestPlansSayWhatTheTablesGain(t *testing.T) {
	known := map[string]Written{"opened": {Seq: 1, Existed: true}, VoidKey("main", 1): {Seq: 2, Existed: true}, "task/main": {Seq: 3, Existed: true}}
	reply := MessageAdded{In: root, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{{Kind: chat.PartText, Text: "Too late."}}}}
	plan, err := NewPlan(Tail{Seq: 3}, known, []*Batch{appending(t, Opened{By: "ann"}, reply)})
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{MessageListed{
		Seq: 4, Agent: "main", Turn: 1, Speaker: string(chat.Assistant), InChat: true, Voided: true, At: 1_800_000_000_000, Words: []string{"late", "too"},
	}}
	if diff := cmp.Diff(want, plan.Changes(aRef)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLookUp is what a store has to know before it can plan some appends.
func TestLookUp(t *testing.T) {
	call := ModelCalled{In: sub, Call: "1.1", Type: RequestPrompt}
	batches := []*Batch{
		appending(t, MessageReceived{ID: "a"}, TaskAssigned{In: sub, Parent: "main", Depth: 1, Role: "helper"}),
		appending(t, MessageAdded{In: sub, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant}}, ModelReplied{In: sub, Call: "1.1"}),
	}
	want := []string{
		"message/main/1.0.0#t1", "received/a", "request/main/1.0.0#1.1", "response/main/1.0.0#1.1", "task/main", "task/main/1.0.0", "void/main/1.0.0#1",
	}
	keys := LookUp(batches)
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	lasting := slices.DeleteFunc(keys, func(key string) bool { return !Lasting(key) })
	if diff := cmp.Diff([]string{"request/main/1.0.0#1.1", "task/main", "task/main/1.0.0"}, lasting); diff != "" {
		t.Errorf("worth remembering (-want +got):\n%s", diff)
	}
	if Settles(batches, map[string]Written{}) || !Settles(batches, map[string]Written{call.Key(): {Seq: 1}}) || !Settles(batches[:1], nil) {
		t.Error("a response settles without its request, or not with it")
	}
}

// TestBatches refuses appends that no list can take, and writes the rest as every store can.
func TestBatches(t *testing.T) {
	at := time.UnixMilli(1)
	good := []Row{Opened{By: "ann"}}
	for name, c := range map[string]struct {
		ref  Ref
		rows []Row
		want string
	}{
		"no tenant":                         {ref: Ref{Conversation: "c"}, rows: good, want: "an append needs a tenant and a conversation"},
		"all tenants":                       {ref: Ref{Tenant: "*", Conversation: "c"}, rows: good, want: "an append needs a tenant and a conversation"},
		"no conversation":                   {ref: Ref{Tenant: "t"}, rows: good, want: "an append needs a tenant and a conversation"},
		"nothing":                           {ref: aRef, want: "an append needs at least one row"},
		"a row of a later build":            {ref: aRef, rows: []Row{Newer{Of: "later"}}, want: `a row of the unknown kind "later" cannot be written`},
		"a long id":                         {ref: aRef, rows: []Row{MessageReceived{ID: strings.Repeat("x", maxID)}}, want: "an id is too long or not text"},
		"an agent's id with a mark of ours": {ref: aRef, rows: []Row{Stepped{In: In{Agent: "a#b", Task: "a"}}}, want: "agent and task ids must not contain #"},
		"no agent":                          {ref: aRef, rows: []Row{Stepped{N: 1}}, want: "names no agent or no task"},
		"a depth that is not in the id":     {ref: aRef, rows: []Row{TaskAssigned{In: sub, Depth: 2, Parent: "main"}}, want: "an agent's id must name its ancestors"},
		"a call of another turn": {
			ref: aRef, rows: []Row{MessageAdded{In: root, Turn: 2, Message: chat.Message{ID: "t2", Parts: []chat.Part{{Kind: chat.PartToolUse, Call: "1.0"}}}}},
			want: `call "1.0" is not named after turn 2`,
		},
		"too much text": {ref: aRef, rows: []Row{NoteAdded{In: root, Text: strings.Repeat("x", maxBody)}}, want: "cut its text"},
	} {
		if b, err := NewBatch(c.ref, at, c.rows); b != nil || chat.CodeOf(err) != chat.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	b := appending(t, Titled{ID: "1", Title: "a\x00b\xff"})
	if diff := cmp.Diff([]Row{Titled{ID: "1", Title: "a\uFFFDb\uFFFD"}}, b.Rows, cmp.AllowUnexported(Titled{})); diff != "" {
		t.Errorf("what is folded is not what is stored (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		row         Row
		opens, once bool
	}{{Opened{}, true, false}, {Opened{Command: "x"}, true, true}, {MessageReceived{ID: "a"}, false, false}} {
		if b := appending(t, MessageReceived{ID: "b"}, c.row); b.Opens() != c.opens || b.OpensOnce() != c.once {
			t.Errorf("%+v opens %t, once %t", c.row, b.Opens(), b.OpensOnce())
		}
	}
}
