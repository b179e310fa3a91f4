package journaltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// chatAndSearch looks at a conversation as a person does.
//
// Covers: R-020, E-117.
func chatAndSearch(t *testing.T, f Fixture) {
	child := journal.In{Agent: "root/1.0.0", Task: "root/1.0.0"}
	says := func(in journal.In, turn int, text string) journal.Row {
		return journal.MessageAdded{In: in, Turn: turn, Message: chat.Message{
			ID: fmt.Sprint("t", turn), Speaker: chat.Assistant, Parts: []chat.Part{{Kind: chat.PartText, Text: text}},
		}}
	}
	write(t, f.Log, ref, append(opening(),
		journal.MessageReceived{ID: "m1", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "Find the Purple elephant"}}},
		journal.MessageAdded{In: root, Message: chat.Message{ID: "u1", Speaker: chat.User, Parts: []chat.Part{
			{Kind: chat.PartText, Text: "Find the Purple elephant"},
		}}},
		journal.TaskAssigned{In: child, Parent: "root", Role: "researcher", Depth: 1},
		says(child, 1, "an elephant, purple, was seen"),
		says(root, 1, "never said: purple elephant"),
		journal.ReplyVoided{In: root, Turn: 1},
		journal.ReplyVoided{In: root, Turn: 2},
		says(root, 2, "never said either: purple elephant"),
		says(root, 3, "The elephant is not purple."),
	)...)
	lines, err := f.Log.Chat(t.Context(), ref, journal.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range lines {
		got = append(got, m.By+m.Agent+": "+journal.Words(m.Parts))
	}
	if diff := cmp.Diff([]string{"ann: Find the Purple elephant", "root: The elephant is not purple."}, got); diff != "" {
		t.Errorf("chat (+) against the wanted (-):\n%s", diff)
	}
	seqs := func(q journal.Query) (out []int64) {
		hits, err := f.Log.Search(t.Context(), ref.Tenant, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			out = append(out, h.Seq)
		}
		return out
	}
	cases := []struct {
		query journal.Query
		want  []int64
	}{
		{journal.Query{Words: "PURPLE elephant"}, []int64{11, 3}},
		{journal.Query{Words: "purple", SubAgents: true}, []int64{11, 6, 3}},
		{journal.Query{Words: "purple", Limit: 1}, []int64{11}},
		{journal.Query{Words: "purple", Conversation: "other"}, nil},
		{journal.Query{Words: "purple dragon"}, nil},
		{journal.Query{Words: "' or 1=1 --"}, nil},
		{journal.Query{Words: ""}, nil},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, seqs(c.query), alike); diff != "" {
			t.Errorf("search %+v: sequences (+) against the wanted (-):\n%s", c.query, diff)
		}
	}
}

// searches draws texts of many scripts and looks for pieces of them, and for what a full-text index
// would take as its own language.
func searches(t *testing.T, f Fixture) {
	n := 0
	symbol := rapid.SampledFrom([]rune("aBcé ÉßñÅ Дд Ωω 中文 かな 한 עב ٣7½² _-.'\\&|!:*<>()\"\n🙂€ªº\u0301\u0e33𞤀Σς\x00İ"))
	rapid.Check(t, func(rt *rapid.T) {
		n++
		at := journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("c", n)}
		memory := NewMemory()
		text := string(rapid.SliceOfN(symbol, 1, 30).Draw(rt, "text"))
		rows := append(opening(), journal.MessageReceived{ID: "m", By: "ann", Parts: []chat.Part{
			{Kind: chat.PartText, Text: text}, {Kind: chat.PartText, Text: "quick or not brown"},
		}})
		for _, to := range []journal.Log{memory, f.Log} {
			if _, err := to.Append(t.Context(), at, start, rows...); err != nil {
				rt.Fatal(err)
			}
		}
		words := string(rapid.SliceOfN(symbol, 1, 4).Draw(rt, "words"))
		if all := append(strings.Fields(text), "quick OR nothing", "quick -brown", "qui*", `"brown not"`); rapid.Bool().Draw(rt, "known") {
			words = rapid.SampledFrom(all).Draw(rt, "word")
		}
		same(rt, "hits", memory, f.Log, func(l journal.Log) (any, error) {
			return l.Search(t.Context(), at.Tenant, journal.Query{Words: words, Conversation: at.Conversation})
		})
	})
}

// lists pages through conversations and reads the inbox and kept texts.
//
//
func lists(t *testing.T, f Fixture) {
	for i := range 7 {
		at := journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("c", i)}
		if _, err := f.Log.Append(t.Context(), at, start.Add(time.Duration(i/2)*time.Second), opening()...); err != nil {
			t.Fatal(err)
		}
	}
	write(t, f.Log, journal.Ref{Tenant: "acme", Conversation: "c6"}, journal.Archived{By: "ann"})
	var got []string
	for cursor := ""; ; {
		page, err := f.Log.Conversations(t.Context(), "acme", journal.Page{Limit: 2, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			got = append(got, c.ID)
		}
		cursor = page[len(page)-1].Cursor()
	}
	if diff := cmp.Diff([]string{"c5", "c4", "c3", "c2", "c1", "c0"}, got); diff != "" {
		t.Errorf("conversations (+) against the wanted (-):\n%s", diff)
	}
	archived, err := f.Log.Conversations(t.Context(), "acme", journal.Page{Archived: true})
	if err != nil || len(archived) != 1 || archived[0].ID != "c6" {
		t.Errorf("archived conversations %+v, %v; want c6", archived, err)
	}
	if _, err := f.Log.Conversations(t.Context(), "acme", journal.Page{Cursor: "nonsense"}); chat.CodeOf(err) != chat.CodeInvalid {
		t.Errorf("a cursor of nobody's gives %v", err)
	}

	c1 := journal.Ref{Tenant: "acme", Conversation: "c1"}
	write(t, f.Log, c1, journal.QuestionAsked{In: root, Question: "q1", Text: "?"}, journal.QuestionRelayed{In: root, Question: "q1"},
		journal.QuestionAsked{In: root, Question: "q2", Text: "?"},
		journal.ApprovalRequested{In: root, Call: "1.0", Tool: "shell", Hash: "h"},
		journal.ApprovalRequested{In: root, Call: "1.1", Tool: "shell", Hash: "h"},
		journal.ApprovalDecided{In: root, Call: "1.1", Hash: "h", By: "ann"})
	waiting, err := f.Log.Inbox(t.Context(), "acme", 0)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, w := range waiting {
		keys = append(keys, w.Conversation+" "+w.Key)
	}
	if diff := cmp.Diff([]string{"c1 ask/q1", "c1 approval/root#1.0"}, keys); diff != "" {
		t.Errorf("inbox (+) against the wanted (-):\n%s", diff)
	}

	text := "You are a coder.\x00"
	if err := f.Log.Keep(t.Context(), ref, text, text, "two"); err != nil {
		t.Fatal(err)
	}
	kept, err := f.Log.Text(t.Context(), ref, journal.HashOf(journal.Printable(text)))
	if err != nil || kept != journal.Printable(text) {
		t.Errorf("kept %q, %v", kept, err)
	}
	if _, err := f.Log.Text(t.Context(), ref, "none"); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("an unknown text gives %v", err)
	}
}

// mail posts to two agents and delivers some of it. Mail that a step takes in goes with the step,
// and stays if another has taken the step.
//
// Covers: P1.
func mail(t *testing.T, f Fixture) {
	at := journal.Ref{Tenant: "acme", Conversation: "c"}
	post := func(id, to string) journal.Row {
		return journal.MailPosted{ID: id, Topic: "agent", To: to, Event: json.RawMessage(`{"id":"` + id + `"}`)}
	}
	step := func(n int, event string) journal.Row {
		return journal.Stepped{In: root, N: n, Event: json.RawMessage(`"` + event + `"`)}
	}
	waits := func(agent string) (out []string) {
		t.Helper()
		entries, err := f.Log.Mail(t.Context(), at, agent)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			p, ok := e.Row.(journal.MailPosted)
			if !ok || p.To != agent || e.Seq == 0 || len(p.Event) == 0 {
				t.Errorf("the mail of %s holds %+v", agent, e)
			}
			out = append(out, p.ID)
		}
		return out
	}
	want := func(agent string, ids ...string) {
		t.Helper()
		if diff := cmp.Diff(ids, waits(agent)); diff != "" {
			t.Errorf("what waits for %s (+) against the wanted (-):\n%s", agent, diff)
		}
	}
	write(t, f.Log, at, append(opening(), post("b", "root"), post("a", "root"), post("x", "root/1.0.0"), post("self", ""))...)
	want("root", "b", "a")
	want("root/1.0.0", "x")
	write(t, f.Log, at, step(1, "b"), journal.MailDelivered{ID: "b"})
	want("root", "a")
	write(t, f.Log, at, step(1, "a"), journal.MailDelivered{ID: "a"}) // another leg was first
	want("root", "a")
	write(t, f.Log, at, post("b", "root")) // the same once more
	want("root", "a")
	write(t, f.Log, at, journal.MailDelivered{ID: "a"}, journal.MailDelivered{ID: "x"})
	want("root")
	want("root/1.0.0")
	write(t, f.Log, journal.Ref{Tenant: "acme", Conversation: "d"}, opening()...)
	if n := len(waits("root/1.0.9")); n > 0 {
		t.Errorf("%d wait for somebody who does not exist", n)
	}
}

// sweeps posts in two tenants and sweeps.
//
// Covers: P1.
func sweeps(t *testing.T, f Fixture) {
	var want []string
	for i, tenant := range []string{"acme", "zeta"} {
		at := journal.Ref{Tenant: tenant, Conversation: "c"}
		rows := append(opening(), journal.MailPosted{ID: "p1", Topic: "message"}, journal.MailPosted{ID: "p2", Topic: "message", To: "root"})
		if _, err := f.Log.Append(t.Context(), at, start.Add(time.Duration(i)*time.Minute), rows...); err != nil {
			t.Fatal(err)
		}
		write(t, f.Log, at, journal.MailDelivered{ID: "p1"})
		want = append(want, tenant+" c p2 message root")
	}
	names := func(posts []journal.Post, err error) (out []string) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range posts {
			out = append(out, strings.Join([]string{p.Tenant, p.Conversation, p.ID, p.Topic, p.To}, " "))
		}
		return out
	}
	sweep := func(before time.Time, limit int) []string { return names(f.Log.Pending(t.Context(), before, limit)) }
	if diff := cmp.Diff(want, sweep(start.Add(time.Hour), 10)); diff != "" {
		t.Errorf("pending (+) against the wanted (-):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], sweep(start.Add(time.Second), 10)); diff != "" {
		t.Errorf("pending a minute earlier (+) against the wanted (-):\n%s", diff)
	}
	write(t, f.Log, journal.Ref{Tenant: "acme", Conversation: "c"}, journal.MailPosted{ID: "p3", Topic: "message"}, journal.MailPosted{ID: "p4", Topic: "message"})
	if diff := cmp.Diff(append(want, "acme c p3 message "), sweep(start.Add(time.Hour), 3)); diff != "" {
		t.Errorf("with many of one tenant, pending (+) against the wanted (-):\n%s", diff)
	}
	arrived := func(after time.Time, limit int) []string {
		return names(f.Log.Arrived(t.Context(), after, limit))
	}
	if diff := cmp.Diff([]string{"zeta c p2 message root"}, arrived(start, 10)); diff != "" {
		t.Errorf("arrived after the first (+) against the wanted (-):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"zeta c p2 message root"}, arrived(start.Add(-time.Hour), 1)); diff != "" {
		t.Errorf("the newest (+) against the wanted (-):\n%s", diff)
	}
	if all := arrived(start.Add(-time.Hour), 10); len(all) != 4 {
		t.Errorf("arrived: %q, want all four that wait", all)
	}
}

// working has tasks in every state in two tenants, and looks for those that have not ended.
//
// Covers: P7.
func working(t *testing.T, f Fixture) {
	in := func(id string) journal.In { return journal.In{Agent: id, Task: id} }
	var want []string
	for _, tenant := range []string{"acme", "zeta"} {
		at := journal.Ref{Tenant: tenant, Conversation: "busy"}
		write(t, f.Log, at, append(opening(),
			journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusRunning},
			journal.TaskAssigned{In: in("root/1.0.0"), Parent: "root", Role: "coder", Depth: 1},
			journal.StatusChanged{In: in("root/1.0.0"), Serial: 1, Status: chat.StatusWaiting, Reason: chat.WaitApproval},
			journal.TaskAssigned{In: in("root/1.0.1"), Parent: "root", Role: "coder", Depth: 1},
			journal.TaskEnded{In: in("root/1.0.1"), Status: chat.StatusFailed},
			journal.TaskAssigned{In: in("root/1.0.2"), Parent: "root", Role: "coder", Depth: 1},
		)...)
		write(t, f.Log, journal.Ref{Tenant: tenant, Conversation: "fresh"}, opening()...)
		idle := journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusCompleted}
		write(t, f.Log, journal.Ref{Tenant: tenant, Conversation: "idle"}, append(opening(), idle)...)
		want = append(want, tenant+" busy root  root", tenant+" busy root/1.0.0 root root/1.0.0", tenant+" busy root/1.0.2 root root/1.0.2")
	}
	for _, limit := range []int{1, 2, 100} {
		var got []string
		for after := (journal.WorkingTask{}); ; {
			page, err := f.Log.Working(t.Context(), start.Add(time.Second), after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("%d tasks of %d, %v", len(page), limit, err)
			}
			if len(page) == 0 {
				break
			}
			for _, w := range page {
				got = append(got, strings.Join([]string{w.Tenant, w.Conversation, w.Task, w.Parent, w.Agent}, " "))
			}
			after = page[len(page)-1]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %d, working (+) against the wanted (-):\n%s", limit, diff)
		}
	}
	if early, err := f.Log.Working(t.Context(), start, journal.WorkingTask{}, 100); err != nil || len(early) > 0 {
		t.Errorf("before anything was assigned %v work, %v", early, err)
	}
}

func erased(t *testing.T, f Fixture) {
	s := &story{}
	rows := append(s.opening(), filled(journal.QuestionAsked{}), filled(journal.ApprovalRequested{}), filled(journal.MailPosted{}),
		filled(journal.ModelCalled{}), filled(journal.ToolStarted{}), filled(journal.Granted{}),
		journal.MessageReceived{ID: "m", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "words"}}})
	write(t, f.Log, ref, rows...)
	other := journal.Ref{Tenant: "acme", Conversation: "c2"}
	write(t, f.Log, other, rows...)
	for _, at := range []journal.Ref{ref, other} {
		if err := f.Log.Keep(t.Context(), at, "a whole output"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Log.Erase(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	textsWent(t, f.Log, other)
	if err := f.Log.Erase(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("erasing twice gives %v", err)
	}
	if _, err := f.Log.Snapshot(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("an erased conversation gives %v", err)
	}
	hits, err := f.Log.Search(t.Context(), "acme", journal.Query{Words: "words"})
	if err != nil || len(hits) != 1 || hits[0].Conversation != "c2" {
		t.Errorf("a search finds %+v, %v; want what was not erased", hits, err)
	}
	if got := write(t, f.Log, ref, opening()...); got[0].Seq != 1 || got[0].Existed {
		t.Errorf("a new conversation of the same id begins with %+v", got[0])
	}
}

// textsWent looks for the texts of an erased conversation, and for the same one of another.
func textsWent(t *testing.T, log journal.Log, other journal.Ref) {
	t.Helper()
	hash := journal.HashOf("a whole output")
	if text, err := log.Text(t.Context(), ref, hash); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("a text of an erased conversation: %q, %v", text, err)
	}
	if text, err := log.Text(t.Context(), other, hash); err != nil || text != "a whole output" {
		t.Errorf("the same text of another conversation: %q, %v", text, err)
	}
	if err := log.Keep(t.Context(), ref, "late"); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("an erased conversation keeps a text: %v", err)
	}
}

// erasedElsewhere has one program erase a conversation and open another of the same id, as long as
// the first, while a second program still remembers what was in it.
func erasedElsewhere(t *testing.T, f Fixture) {
	other := f.Other()
	child := journal.In{Agent: "root/1.0.0", Task: "root/1.0.0"}
	write(t, f.Log, ref, append(opening(), journal.TaskAssigned{In: child, Parent: "root", Role: "coder", Depth: 1})...)
	write(t, other, ref, journal.NoteAdded{In: child, Serial: 1, Note: "here"})
	write(t, other, ref, journal.NoteAdded{In: child, Serial: 2, Note: "still here"})
	if err := f.Log.Erase(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	again := append(opening(), journal.Titled{ID: "1"}, journal.Titled{ID: "2"}, journal.Titled{ID: "3"})
	write(t, f.Log, ref, again...)
	_, err := other.Append(t.Context(), ref, start, journal.NoteAdded{In: child, Serial: 3, Note: "gone"})
	if chat.CodeOf(err) != chat.CodeInvalid {
		t.Errorf("a row about an erased agent: error is %v, want a refusal", err)
	}
	if got := write(t, other, ref, journal.Titled{ID: "4"}); got[0].Seq != 6 {
		t.Errorf("the next row stands at %d, want 6", got[0].Seq)
	}
}

// erasedMidSentence erases conversations while another program writes to them: nothing of what was
// written stays behind, to be in the way of one that is opened again.
func erasedMidSentence(t *testing.T, f Fixture) {
	other := f.Other()
	for round := range 20 {
		at := journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("c", round)}
		word := func(n int) journal.Row {
			return journal.MessageReceived{ID: fmt.Sprint("m", n), By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "words"}}}
		}
		write(t, f.Log, at, opening()...)
		ended := make(chan error, 1)
		go func() {
			for n := 0; ; n++ {
				if _, err := other.Append(t.Context(), at, start, word(n), word(-n-1)); err != nil {
					ended <- err
					return
				}
				time.Sleep(200 * time.Microsecond) // a file has one writer, and others must get their turn
			}
		}()
		time.Sleep(time.Duration(round%5) * time.Millisecond)
		if err := f.Log.Erase(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; chat.CodeOf(err) != chat.CodeNotFound {
			t.Errorf("a row of an erased conversation: error is %v, want not_found", err)
		}
		write(t, f.Log, at, append(opening(), word(0))...)
		messages, err := f.Log.Chat(t.Context(), at, journal.Page{})
		if err != nil || len(messages) != 1 {
			t.Errorf("round %d: opened again it has %d messages, %v", round, len(messages), err)
		}
		hits, err := f.Log.Search(t.Context(), "acme", journal.Query{Words: "words", Conversation: at.Conversation})
		if err != nil || len(hits) != 1 {
			t.Errorf("round %d: a search finds %d messages, %v", round, len(hits), err)
		}
	}
}
