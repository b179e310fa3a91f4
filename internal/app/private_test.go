//go:build linux

package app

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// privateOf is the API that a node serves to its own process, for ann in the workspace shop.
func privateOf(t *testing.T, n *Node) *Private {
	t.Helper()
	p, err := n.Private(t.Context(), "ann", "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// shop is a node that works in the workspace shop, alone on its machine.
func shop(t *testing.T, e *engineStub, set ...string) *Node {
	t.Helper()
	o := nodeOptions(nodeSettings(t, set...), e.address, nil)
	o.Workspaces, o.Local = map[Workspace]string{LocalWorkspace("shop"): t.TempDir()}, true
	return openNode(t, o)
}

// rowsOf are the rows of a kind in a conversation.
func rowsOf[R journal.Row](t *testing.T, log journal.Log, ref journal.Ref) (out []R) {
	t.Helper()
	entries, err := log.Entries(t.Context(), ref, 0, journal.PageMaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if r, ok := e.Row.(R); ok {
			out = append(out, r)
		}
	}
	return out
}

// TestAProcessServesItself begins a conversation over pipes, talks, decides and cancels. All of it
// is ann's, is in the journal, and the engine is told.
func TestAProcessServesItself(t *testing.T) {
	e := newEngineStub(t)
	n := shop(t, e)
	c := privateOf(t, n).Client
	me, err := c.Me(t.Context())
	if diff := cmp.Diff([]string{LocalTenant, "ann", "owner"}, []string{me.Tenant, me.User, me.Role}); err != nil || diff != "" {
		t.Errorf("who the caller is: %v\n%s", err, diff)
	}
	made, err := c.Create(t.Context(), wire.NewConversation{Title: "the till", Message: "count it"})
	if err != nil {
		t.Fatal(err)
	}
	ref := journal.Ref{Tenant: LocalTenant, Conversation: made.ID}
	opened := rowsOf[journal.Opened](t, n.Log, ref)
	if len(opened) != 1 || opened[0].By != "ann" || opened[0].Workspace != "shop" || opened[0].Title != "the till" {
		t.Errorf("it began as %+v", opened)
	}
	run := LocalTenant + "/" + made.ID + "/main"
	if told := e.heard(askTell, run); told != 1 {
		t.Errorf("the engine was told %d times of the first message", told)
	}
	if told := e.heard(askTell, "retinue/local/shop"); told != 1 {
		t.Error("its run is not carried out where its workspace is")
	}
	if _, err := c.Post(t.Context(), made.ID, wire.NewMessage{Text: "and again"}); err != nil {
		t.Error(err)
	}
	var said []string
	for _, m := range rowsOf[journal.MessageReceived](t, n.Log, ref) {
		said = append(said, m.By+": "+m.Parts[0].Text)
	}
	if diff := cmp.Diff([]string{"ann: count it", "ann: and again"}, said); diff != "" {
		t.Errorf("what was said (-want +got):\n%s", diff)
	}
	if told := e.heard(askTell, run); told != 2 {
		t.Errorf("the engine was told %d times of two messages", told)
	}

	in := journal.In{Agent: "main", Task: "main"}
	if _, err := n.Log.Append(t.Context(), ref, made.OpenedAt, journal.ApprovalRequested{In: in, Call: "1.0", Tool: "shell", Hash: "shown"}); err != nil {
		t.Fatal(err)
	}
	asked, err := c.Approvals(t.Context(), made.ID)
	if err != nil || len(asked) != 1 || asked[0].Tool != "shell" {
		t.Fatalf("the approvals are %+v, %v", asked, err)
	}
	problem := &client.Problem{}
	if _, err := c.Decide(t.Context(), made.ID, asked[0].ID, wire.Decision{Allow: true, Hash: "another"}); !errors.As(err, &problem) || problem.Code != "conflict" {
		t.Errorf("a decision on a call that was not shown: %v", err)
	}
	if _, err := c.Decide(t.Context(), made.ID, asked[0].ID, wire.Decision{Allow: true, Hash: "shown"}); err != nil {
		t.Error(err)
	}
	if got := rowsOf[journal.ApprovalDecided](t, n.Log, ref); len(got) != 1 || got[0].By != "ann" || !got[0].Allow || got[0].Call != "1.0" {
		t.Errorf("decided was %+v", got)
	}
	if _, err := c.Cancel(t.Context(), made.ID, ""); err != nil {
		t.Error(err)
	}
	if posts := rowsOf[journal.MailPosted](t, n.Log, ref); !slices.ContainsFunc(posts, func(p journal.MailPosted) bool { return p.Stops() && p.By == "ann" }) {
		t.Errorf("nobody stopped it: %+v", posts)
	}
}

// TestAPrivateServerEndsUnderAStream has somebody follow a conversation over pipes: they get what
// was and what comes, learn that the server is gone, and nobody reaches it after that.
func TestAPrivateServerEndsUnderAStream(t *testing.T) {
	n := shop(t, newEngineStub(t))
	p := privateOf(t, n)
	made, err := p.Client.Create(t.Context(), wire.NewConversation{Message: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen, lost, ended := make(chan wire.EventType, 100), make(chan error, 100), make(chan error, 1)
	go func() {
		var last error
		for event, err := range p.Client.Follow(ctx, made.ID, client.FollowOptions{Lost: func(err error) {
			select {
			case lost <- err:
			default: // it was told often enough
			}
		}}) {
			if last = err; err == nil {
				seen <- event.Type
			}
		}
		ended <- last
	}()
	follow := func(want wire.EventType) {
		t.Helper()
		for soon(t, string(want), seen) != want {
			continue
		}
	}
	follow(wire.ConversationCreated)
	follow(wire.MessageReceived)
	if _, err := p.Client.Archive(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	follow(wire.ConversationArchived)
	if streams := p.api.Counts().Streams; streams != 1 {
		t.Errorf("%d streams are open", streams)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Errorf("closed twice, with a stream: %v", err)
	}
	if err := soon(t, "the follower loses the server", lost); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the follower lost the server: %v", err)
	}
	once := *p.Client
	once.Attempts = 1
	if me, err := once.Me(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("afterwards: %+v, %v", me, err)
	}
	stop()
	if err := soon(t, "the follower ends", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the follower ended with %v", err)
	}
}

// TestPipes makes connections that nobody accepts, and accepts where nobody comes.
func TestPipes(t *testing.T) {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	if at := p.Addr(); at.Network() != "pipe" || at.String() != "pipe" {
		t.Errorf("its address is %s %s", at.Network(), at)
	}
	tired := errors.New("tired")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tired)
	if conn, err := p.dial(ctx); !errors.Is(err, tired) {
		t.Errorf("a caller who does not wait: %v, %v", conn, err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := p.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	ours, err := p.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs := soon(t, "a connection", accepted)
	go func() { _, _ = ours.Write([]byte("x")) }()
	if n, err := theirs.Read(make([]byte, 8)); n != 1 || err != nil {
		t.Errorf("%d bytes came through, %v", n, err)
	}
	if err := errors.Join(ours.Close(), theirs.Close(), p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if _, err := p.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted after the end: %v", err)
	}
	if _, err := p.dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a call after the end: %v", err)
	}
}
