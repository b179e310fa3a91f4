package audit_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	ref  = journal.Ref{Tenant: "acme", Conversation: "c1"}
	root = journal.In{Agent: "main", Task: "main"}
)

func trail(t *testing.T) *audit.Trail {
	t.Helper()
	s, err := store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return audit.NewTrail(s, time.Now)
}

// lines are the entries of a trail in short.
func lines(t *testing.T, trail *audit.Trail, tenant string) []string {
	t.Helper()
	if _, err := audit.Verify(t.Context(), trail, tenant, nil, nil); err != nil {
		t.Fatal(err)
	}
	entries, err := trail.Read(t.Context(), tenant, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.Join([]string{
			string(e.Action), string(e.Outcome), e.Actor.User, e.Actor.Credential, e.Actor.Source, e.Conversation, e.Object, e.Digest, e.Detail,
		}, "|"))
	}
	return out
}

// TestCommandsLeaveTraces sends each command twice, as a client that is not sure does.
func TestCommandsLeaveTraces(t *testing.T) {
	trail := trail(t)
	log := audit.NewLog(journaltest.NewMemory(), trail, "node")
	ann := audit.With(t.Context(), audit.Actor{User: "u1", Credential: "key_7", Source: "api"})
	now := time.Now()
	for range 2 {
		for _, rows := range [][]journal.Row{
			{journal.Opened{By: "ann", Workspace: "shop"}, journal.TaskAssigned{In: root, Role: "main"}},
			{
				journal.MessageReceived{ID: "m1", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "the words are nobody's business"}}},
				journal.MailPosted{ID: "message:m1", Topic: "message"},
			},
			{journal.ApprovalRequested{In: root, Call: "1.1", Tool: "shell", Hash: "d1"}},
			{journal.ApprovalDecided{In: root, Call: "1.1", Hash: "d1", Allow: true, Scope: "once", By: "ann"}},
			{journal.EditProposed{In: root, Call: "1.3", Edit: "e", Args: `{"path":"a"}`, By: "ann"}},
			{journal.ApprovalDecided{In: root, Call: "1.3", Hash: "d1", Allow: true, Scope: "once", By: "ann", Args: `{"path":"a"}`}},
			{journal.Stop("x1", "ann", "main")},
		} {
			if _, err := log.Append(ann, ref, now, rows...); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range []journal.Row{
			journal.ToolStarted{In: root, Call: "1.1", Attempt: 1, Worker: "w", Class: "once"},
			journal.ToolStarted{In: root, Call: "1.2", Attempt: 1, Worker: "w", Class: "pure"},
			journal.Archived{By: "ann"},
			journal.MailPosted{ID: journal.Erasure, Topic: "erase", By: "ann"},
		} {
			if _, err := log.Append(t.Context(), ref, now, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := log.Erase(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"conversation.open|accepted|u1|key_7|api|c1|||workspace=shop",
		"message.post|accepted|u1|key_7|api|c1|m1||",
		"approval.decide|accepted|u1|key_7|api|c1|main#1.1|d1|allow=true scope=once",
		"approval.decide|accepted|u1|key_7|api|c1|main#1.3|" + journal.HashOf("d1\n"+`{"path":"a"}`) + "|allow=true scope=once",
		"cancel|accepted|u1|key_7|api|c1|main||",
		"effect.begin|accepted|||node|c1|main#1.1||class=once attempt=1 worker=w",
		"conversation.archive|accepted|ann||node|c1|||",
		"conversation.delete|accepted|ann||node|c1|||",
		"conversation.erase|accepted|||node|c1|||rows=13 texts=0 bytes=942",
	}
	if diff := cmp.Diff(want, lines(t, trail, "acme")); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}

// TestTheTrailComesFirst breaks the one and then the other.
func TestTheTrailComesFirst(t *testing.T) {
	memory := journaltest.NewMemory()
	gone := trail(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	opened := journal.Opened{By: "ann"}
	if _, err := audit.NewLog(memory, gone, "node").Append(ended, ref, time.Now(), opened); err == nil {
		t.Error("a command was carried out that is not on the trail")
	}
	if _, err := memory.Snapshot(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("a conversation without a trace: %v", err)
	}
	trail := trail(t)
	log := audit.NewLog(memory, trail, "node")
	if _, err := log.Append(t.Context(), ref, time.Now(), journal.Archived{By: "ann"}); err == nil {
		t.Fatal("a conversation that does not exist was archived")
	}
	want := []string{
		"conversation.archive|accepted|ann||node|c1|||", "conversation.archive|failed|ann||node|c1|||error=not_found",
	}
	if diff := cmp.Diff(want, lines(t, trail, "acme")); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}

// TestGapsAreFound decides past the trail.
func TestGapsAreFound(t *testing.T) {
	trail, memory := trail(t), journaltest.NewMemory()
	log := audit.NewLog(memory, trail, "node")
	put := func(to journal.Writer, row journal.Row) {
		t.Helper()
		if _, err := to.Append(t.Context(), ref, time.Now().Add(time.Second), row); err != nil {
			t.Fatal(err)
		}
	}
	put(log, journal.Opened{By: "ann"})
	put(log, journal.TaskAssigned{In: root, Role: "main"})
	for i, to := range []journal.Writer{log, memory} {
		call := fmt.Sprintf("1.%d", i+1)
		put(to, journal.ApprovalRequested{In: root, Call: call, Tool: "shell", Hash: "d"})
		put(to, journal.ApprovalDecided{In: root, Call: call, Hash: "d", By: "ann"})
		put(to, journal.ToolStarted{In: root, Call: call, Attempt: 1, Class: "once"})
	}
	// the trail tells of these arguments, the journal of others
	edited := journal.ApprovalDecided{In: root, Call: "1.3", Hash: "d", Allow: true, By: "ann", Args: `{"path":"a"}`}
	other := edited
	other.Args = `{"path":"b"}`
	put(memory, other)
	put(log, edited)
	cover := audit.NewCover()
	if _, err := audit.Verify(t.Context(), trail, "acme", nil, cover.Add); err != nil {
		t.Fatal(err)
	}
	checked, gaps, err := cover.Gaps(t.Context(), memory, ref)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"c1, event 7: a decision on main#1.2", "c1, event 8: the call main#1.2", "c1, event 9: a decision on main#1.3",
	}
	if diff := cmp.Diff(want, gaps); diff != "" || checked != 5 {
		t.Errorf("%d checked, gaps (-want +got):\n%s", checked, diff)
	}
}

// TestRefusalsDoNotFillTheTrail refuses a thousand times.
func TestRefusalsDoNotFillTheTrail(t *testing.T) {
	trail := trail(t)
	recorder := audit.NewRecorder(trail, time.Now)
	for range 1000 {
		recorder.Deny("", audit.Actor{Source: "api"}, "unauthorised")
		recorder.Deny("acme", audit.Actor{User: "eve", Source: "api"}, "forbidden")
	}
	recorder.Close()
	for _, tenant := range []string{audit.Installation, "acme"} {
		got := lines(t, trail, tenant)
		if len(got) != 11 || got[10] != "access.deny|denied|||api||||and 990 more within a minute" {
			t.Errorf("%s: %d entries, %v", tenant, len(got), got)
		}
	}
}

func TestHeads(t *testing.T) {
	trail := trail(t)
	for i := range 3 {
		if err := trail.Write(t.Context(), "acme", audit.Record{Action: "a", Detail: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	head, err := trail.Last(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	line := head.Sign(time.Now(), private)
	got, _, err := audit.ParseHead(line, public)
	if err != nil || got != head {
		t.Errorf("read back %v, %v", got, err)
	}
	at := strings.LastIndex(line, " ") + 1 // where the signature begins
	forged := line[:at] + "A" + line[at+1:]
	if forged == line {
		forged = line[:at] + "B" + line[at+1:]
	}
	for _, bad := range []string{"", forged, strings.Replace(line, " 3 ", " 2 ", 1)} {
		if _, _, err := audit.ParseHead(bad, public); err == nil {
			t.Errorf("took %q for a head", bad)
		}
	}
	head.Seq++
	if _, err := audit.Verify(t.Context(), trail, "acme", []audit.Head{head}, nil); !isBroken(err) {
		t.Errorf("a chain that ends too early: %v", err)
	}
}

func isBroken(err error) bool {
	_, ok := errors.AsType[*audit.Broken](err)
	return ok
}

// TestADecisionIsWitnessed has a decision written, and then forged in each of its parts.
func TestADecisionIsWitnessed(t *testing.T) {
	wall := measure.NewWall(t, "1.3")
	log := audit.NewLog(journaltest.NewMemory(), trail(t), "test")
	ctx := t.Context()
	given := journal.ApprovalDecided{In: root, Call: "1.0", Hash: "shown", Allow: true, Scope: "once", By: "ann"}
	if _, err := log.Append(ctx, ref, time.Now(), journal.Opened{By: "ann"}, journal.TaskAssigned{In: root, Role: "main"}, given); err != nil {
		t.Fatal(err)
	}
	entries, err := log.Find(ctx, ref, given.Key())
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	kept, _ := entries[0].Row.(journal.ApprovalDecided)
	if ok, err := log.Witnessed(ctx, ref, kept); !ok || err != nil {
		t.Errorf("%+v is not witnessed: %v", kept, err)
	}
	denied := journal.ApprovalDecided{In: root, Call: "2.0", Hash: "shown", Scope: "once", By: "ann"}
	if _, err := log.Append(ctx, ref, time.Now(), denied); err != nil {
		t.Fatal(err)
	}
	elsewhere := journal.Ref{Tenant: "acme", Conversation: "c2"}
	for name, forge := range map[string]func(d *journal.ApprovalDecided, at *journal.Ref){
		"never written":        func(d *journal.ApprovalDecided, _ *journal.Ref) { d.Audit = "0123456789abcdef" },
		"without an entry":     func(d *journal.ApprovalDecided, _ *journal.Ref) { d.Audit = "" },
		"another call":         func(d *journal.ApprovalDecided, _ *journal.Ref) { d.Call = "2.0" },
		"another agent":        func(d *journal.ApprovalDecided, _ *journal.Ref) { d.Agent = "main/1.0.0" },
		"something else shown": func(d *journal.ApprovalDecided, _ *journal.Ref) { d.Hash = "other" },
		"other arguments":      func(d *journal.ApprovalDecided, _ *journal.Ref) { d.Args = "{}" },
		"farther":              func(d *journal.ApprovalDecided, _ *journal.Ref) { d.Scope = "chat" },
		"a no for a yes":       func(d *journal.ApprovalDecided, _ *journal.Ref) { d.Allow = false },
		"another conversation": func(_ *journal.ApprovalDecided, at *journal.Ref) { *at = elsewhere },
		"another tenant":       func(_ *journal.ApprovalDecided, at *journal.Ref) { at.Tenant = "other" },
	} {
		forged, at := kept, ref
		forge(&forged, &at)
		ok, err := log.Witnessed(ctx, at, forged)
		wall.Try(ok || err != nil, "%s: witnessed %t, %v", name, ok, err)
	}
}

// TestAnApprovalThatNobodyGaveIsFound closes an approval with and without a decision.
func TestAnApprovalThatNobodyGaveIsFound(t *testing.T) {
	tr := trail(t)
	memory := journaltest.NewMemory()
	log := audit.NewLog(memory, tr, "test")
	ctx := t.Context()
	rows := []journal.Row{
		journal.Opened{By: "ann"},
		journal.TaskAssigned{In: root, Role: "main"},
		journal.ApprovalDecided{In: root, Call: "1.0", Hash: "h", Allow: true, Scope: "once", By: "ann"},
		journal.ApprovalClosed{In: root, Call: "1.0", Status: "approved", Scope: "once", By: "ann"},
		journal.ApprovalDecided{In: root, Call: "2.0", Hash: "h", Allow: true, Scope: "once", By: "ann"},
		journal.ApprovalClosed{In: root, Call: "2.0", Status: "approved", Scope: "chat", By: "ann"},
		journal.ApprovalClosed{In: root, Call: "3.0", Status: "approved", Scope: "once", By: "boss"},
		journal.ApprovalClosed{In: root, Call: "4.0", Status: "denied", By: "ann"},
	}
	for _, row := range rows {
		if _, err := log.Append(ctx, ref, time.Now(), row); err != nil {
			t.Fatal(err)
		}
	}
	cover := audit.NewCover()
	entries, err := tr.Read(ctx, ref.Tenant, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		cover.Add(e)
	}
	_, gaps, err := cover.Gaps(ctx, memory, ref)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"c1, event 6: nobody allowed the call main#2.0", "c1, event 7: nobody allowed the call main#3.0"}
	if diff := cmp.Diff(want, gaps); diff != "" {
		t.Error(diff)
	}
}

// TestNamesStand records commands of somebody whose address has all the marks that ids are made
// with.
func TestNamesStand(t *testing.T) {
	const name = "a|b:c/d~e#f@example.org"
	trail := trail(t)
	log := audit.NewLog(journaltest.NewMemory(), trail, "node")
	for _, row := range []journal.Row{
		journal.Opened{By: name},
		journal.TaskAssigned{In: root, Role: "main"},
		journal.Stop("x1", name, ""), journal.Stop("x2", name, "main"),
		journal.MailPosted{ID: journal.Erasure, Topic: "erase", By: name},
	} {
		if _, err := log.Append(t.Context(), ref, time.Now(), row); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"conversation.open|accepted|" + name + "||node|c1|||workspace=", "cancel|accepted|" + name + "||node|c1|||",
		"cancel|accepted|" + name + "||node|c1|main||", "conversation.delete|accepted|" + name + "||node|c1|||",
	}
	if diff := cmp.Diff(want, lines(t, trail, "acme")); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}
