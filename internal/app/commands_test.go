//go:build linux

package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/deletion"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/wire"
)

// serving is a server of a node, and a client of it.
func serving(t *testing.T, n *Node) (*Front, *client.Client) {
	t.Helper()
	f, err := n.Serve(t.Context(), FrontOptions{Workspace: "shop", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, &client.Client{BaseURL: f.URL, Key: f.Token}
}

// trailOf is the one tenant's trail: for each entry who, how, what and with which outcome.
func trailOf(t *testing.T, a *Auditor) (out []string) {
	t.Helper()
	list, err := a.Show(t.Context(), LocalTenant, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Actor.User+" "+e.Actor.Source+" "+string(e.Action)+" "+string(e.Outcome))
	}
	return out
}

// TestCommandsLeaveTraces has a person go through the life of a conversation, and reads the data
// folder afterwards.
func TestCommandsLeaveTraces(t *testing.T) {
	t.Setenv("USER", "ann")
	e := newEngineStub(t)
	n := shop(t, e)
	_, c := serving(t, n)
	made, err := c.Create(t.Context(), wire.NewConversation{Visibility: wire.VisiblePrivate, Message: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	ref := journal.Ref{Tenant: LocalTenant, Conversation: made.ID}
	_, err = c.Share(t.Context(), made.ID)
	_, err2 := c.Cancel(t.Context(), made.ID, "")
	_, err3 := c.Archive(t.Context(), made.ID)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if shared := rowsOf[journal.Shared](t, n.Log, ref); len(shared) != 1 || shared[0].By != "ann" {
		t.Errorf("shared was %+v", shared)
	}
	if list, err := c.Conversations(t.Context(), client.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("an archived conversation is on the list: %+v, %v", list.Items, err)
	}
	if _, err := c.Delete(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Log.Snapshot(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("a conversation that was deleted: %v", err)
	}
	a := openAuditor(t, n.options.Loaded.Settings.DataDir)
	var want []string
	for _, action := range []string{"conversation.open", "message.post", "conversation.share", "cancel", "conversation.archive", "conversation.delete", "conversation.erase"} {
		want = append(want, "ann api "+action+" accepted")
	}
	if diff := cmp.Diff(want, trailOf(t, a)); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
	if list, err := a.Show(t.Context(), LocalTenant, 2, 1); err != nil || len(list) != 1 || list[0].Seq != 3 {
		t.Errorf("after two, one: %+v, %v", list, err)
	}
	if r, err := a.Verify(t.Context(), LocalTenant, nil); err != nil || len(r.Gaps) > 0 || r.Entries != int64(len(want)) {
		t.Errorf("%+v, %v", r, err)
	}
	if list, err := a.Certificates(t.Context(), LocalTenant); err != nil || len(list) > 0 {
		t.Errorf("certificates of a tenant that is there: %+v, %v", list, err)
	}
}

// TestWebhooksHearWhatLeavesTheList archives a conversation: a receiver is told nevertheless.
func TestWebhooksHearWhatLeavesTheList(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(text))
	}))
	t.Cleanup(receiver.Close)
	n := shop(t, newEngineStub(t), "webhooks.local", strings.TrimPrefix(receiver.URL, "http://"))
	_, c := serving(t, n)
	if _, err := c.CreateWebhook(t.Context(), wire.NewWebhook{URL: receiver.URL + "/hook"}); err != nil {
		t.Fatal(err)
	}
	made, err := c.Create(t.Context(), wire.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Archive(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	ref, in := journal.Ref{Tenant: LocalTenant, Conversation: made.ID}, journal.In{Agent: "main", Task: "main"}
	if _, err := n.Log.Append(t.Context(), ref, time.Now(), journal.ApprovalRequested{In: in, Call: "1.0", Tool: "shell", Hash: "h"}); err != nil {
		t.Fatal(err)
	}
	await(t, "the receiver is told of the approval", func() bool {
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(bodies, "\n")
		return strings.Contains(all, made.ID) && strings.Contains(all, string(wire.ApprovalRequested))
	})
}

// TestOldConversationsAreDeleted starts a server beside a conversation that nobody has touched for
// days, and one that somebody has.
func TestOldConversationsAreDeleted(t *testing.T) {
	n := shop(t, newEngineStub(t), "retention.days", "2")
	old, fresh := journal.Ref{Tenant: LocalTenant, Conversation: "old"}, journal.Ref{Tenant: LocalTenant, Conversation: "fresh"}
	for ref, age := range map[journal.Ref]time.Duration{old: 72 * time.Hour, fresh: 24 * time.Hour} {
		if _, err := n.Log.Append(t.Context(), ref, time.Now().Add(-age), journaltest.Opening()...); err != nil {
			t.Fatal(err)
		}
	}
	serving(t, n)
	await(t, "the old conversation goes", func() bool {
		_, err := n.Log.Snapshot(t.Context(), old)
		return chat.CodeOf(err) == chat.CodeNotFound
	})
	if _, err := n.Log.Snapshot(t.Context(), fresh); err != nil {
		t.Errorf("the other: %v", err)
	}
	by := deletion.Retention + " " + deletion.Retention + " conversation.delete accepted"
	if got := strings.Join(trailOf(t, openAuditor(t, n.options.Loaded.Settings.DataDir)), "\n"); !strings.Contains(got, by) {
		t.Errorf("nobody deleted it:\n%s", got)
	}
}

// TestReadersLearnOfAnEnd erases a conversation that somebody reads.
func TestReadersLearnOfAnEnd(t *testing.T) {
	bus := live.NewLocal(0)
	defer bus.Close()
	ref := journal.Ref{Tenant: LocalTenant, Conversation: "c"}
	log := notifyingLog{Log: journaltest.NewMemory(), bus: bus, pressure: newPressure(nodeSettings(t).Settings.Serve.Limits)}
	reader, err := bus.Subscribe(t.Context(), live.Topic(ref))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := log.Append(t.Context(), ref, time.Now(), journaltest.Opening()...); err != nil {
		t.Fatal(err)
	}
	if err := log.Erase(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	got := []live.Notice{soon(t, "the first notice", reader.Notices()), soon(t, "the second notice", reader.Notices())}
	if diff := cmp.Diff([]live.Notice{live.Appended{Topic: live.Topic(ref), Seq: 2}, live.Appended{Topic: live.Topic(ref)}}, got); diff != "" {
		t.Errorf("the notices (-want +got):\n%s", diff)
	}
}

// TestReadinessAsksTheParts asks a server how it is with an engine that refuses, and with a journal
// that cannot be used.
func TestReadinessAsksTheParts(t *testing.T) {
	e := newEngineStub(t)
	n := shop(t, e)
	f, _ := serving(t, n)
	now := time.Now()
	f.ready.Now = func() time.Time { return now }
	look := func(status int, words ...string) {
		t.Helper()
		now = now.Add(time.Minute) // it does not ask again at once
		answer, text := newVisitor(t, &Front{URL: f.Health}).do(http.MethodGet, "/readyz", "")
		for _, word := range words {
			if answer.StatusCode != status || !strings.Contains(text, word) {
				t.Errorf("%s, without %s: %s", answer.Status, word, text)
			}
		}
	}
	look(http.StatusOK, `"ready":true`)
	e.refuse(askNamespace, codes.PermissionDenied)
	look(http.StatusServiceUnavailable, `"engine":"ask the engine: `)
	e.refuse(askNamespace, codes.OK)
	look(http.StatusOK, `"ready":true`)
	n.ready = func(context.Context) error { return errors.New("not migrated") }
	look(http.StatusServiceUnavailable, `"journal":"not migrated"`)

	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "journal.db")})
	if err != nil {
		t.Fatal(err)
	}
	alone := &Node{Log: log}
	if err := alone.journalReady(t.Context()); err != nil {
		t.Errorf("an open file: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := alone.journalReady(t.Context()); err == nil {
		t.Error("a closed file is ready")
	}
}
