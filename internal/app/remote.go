package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/internal/remote"
	"github.com/retinue-dev/retinue/wire"
)

// Remote is a server that holds conversations, reached over its API. It does for commands what a
// node of this process does; who speaks is who the server takes the caller for.
type Remote struct {
	// Address is where it is, as people read it.
	Address string

	client *client.Client
}

// socketPatience is how long a server on this machine may take to answer whether it is there.
const socketPatience = 2 * time.Second

// OpenRemote is the server at an address, with a key that lets the caller in.
func OpenRemote(address, key string) (*Remote, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address such as https://retinue.example.org", address)
	}
	if u.Scheme == "http" && !loops(u.Hostname()) {
		return nil, fmt.Errorf("%s would send the key where others can read it: use https", address)
	}
	return &Remote{Address: address, client: &client.Client{BaseURL: address, Key: key}}, nil
}

// loops reports whether a host is this machine.
func loops(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// LocalRemote is the server that runs on a data folder, nil if none answers there. With a workspace
// it is nil too unless somebody is known to carry agents on in that one.
func LocalRemote(ctx context.Context, s config.Settings, workspace string) *Remote {
	path := filepath.Join(s.DataDir, SocketName)
	if len(path) > longestSocket || workspace != "" && !attended(s, workspace) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, socketPatience)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil // nobody is there, or nobody who talks to us
	}
	_ = conn.Close() // it was only to see
	r := &Remote{Address: path, client: client.OverSocket(path)}
	if _, err := r.client.Me(ctx); err != nil {
		return nil
	}
	return r
}

// attended reports whether another process works in a workspace, as far as is known here.
func attended(s config.Settings, workspace string) bool {
	if s.Engine.Temporal != "" {
		return !s.Journal.DSN.IsZero()
	}
	owner, err := readOwner(s.DataDir)
	return err == nil && slices.Contains(owner.Workspaces, workspace)
}

// Link makes an address that lets one browser in, once.
func (r *Remote) Link(ctx context.Context) (string, error) {
	link, err := r.client.Link(ctx)
	return link, r.plain(err)
}

// Begin opens a conversation and returns its id, which is the server's. The same id here means the
// same conversation there.
func (r *Remote) Begin(ctx context.Context, id string, t NewConversation) (string, error) {
	c, err := r.client.Keyed(id).Create(ctx, wire.NewConversation{
		Title: t.Title, Workspace: t.Workspace, Role: t.Role, Model: t.Model, Headless: t.Headless, MaxCost: t.Cost,
		MaxDuration: t.Time.Milliseconds(),
	})
	return c.ID, r.plain(err)
}

// Find looks a conversation up.
func (r *Remote) Find(ctx context.Context, conversation string) (ConversationInfo, error) {
	s, err := r.client.Conversation(ctx, conversation)
	if client.IsNotFound(err) {
		return ConversationInfo{}, journal.NotFound()
	}
	return ConversationInfo{By: s.Conversation.By, Workspace: s.Conversation.Workspace, Seq: s.Conversation.Seq}, r.plain(err)
}

// Say says something in a conversation and returns the message's id, which is the server's.
func (r *Remote) Say(ctx context.Context, conversation, id, _, text string) (string, error) {
	m, err := r.client.Keyed(id).Post(ctx, conversation, wire.NewMessage{Text: text})
	return m.ID, r.plain(err)
}

// Follow sends what happens in a conversation after an entry.
func (r *Remote) Follow(ctx context.Context, conversation string, after int64) <-chan progress.Update {
	return remote.Follow(ctx, r.client, conversation, after)
}

// Cancel asks everything in a conversation to stop.
func (r *Remote) Cancel(ctx context.Context, conversation, id, _ string) error {
	_, err := r.client.Keyed(id).Cancel(ctx, conversation, "")
	return r.plain(err)
}

// Answer answers a question.
func (r *Remote) Answer(ctx context.Context, conversation, question, _, text string) error {
	_, err := r.client.Post(ctx, conversation, wire.NewMessage{Text: text, InReplyTo: question})
	return r.plain(err)
}

// Decline says that a question will not be answered.
func (r *Remote) Decline(ctx context.Context, conversation, question, _ string) error {
	_, err := r.client.Post(ctx, conversation, wire.NewMessage{Text: declined, InReplyTo: question, Decline: true})
	return r.plain(err)
}

// Decide decides about a call that wants approval.
func (r *Remote) Decide(ctx context.Context, conversation, _ string, p progress.Pending, v Verdict) error {
	d := wire.Decision{Hash: p.Hash, Allow: v != VerdictNo}
	switch v {
	case VerdictOnce:
		d.Scope = "once"
	case VerdictTask:
		d.Scope = "task"
	case VerdictAlways:
		d.Scope = "conversation"
	case VerdictNo:
	}
	_, err := r.client.Decide(ctx, conversation, api.ApprovalID(p.Agent, p.Call), d)
	return r.plain(err)
}

// Inbox is what waits for a person, the oldest first.
func (r *Remote) Inbox(ctx context.Context) ([]InboxItem, error) {
	waiting, err := r.client.Inbox(ctx, inboxMost)
	if err != nil {
		return nil, r.plain(err)
	}
	var out []InboxItem
	for _, w := range waiting {
		item := InboxItem{Conversation: w.Conversation, At: w.At}
		item.Role = w.Role
		var until *time.Time
		var asks journal.Row
		switch {
		case w.Question != nil:
			q := w.Question
			item.Agent, item.Task, until = q.Agent, q.Task, q.Until
			asks = journal.QuestionAsked{Question: q.ID, Text: q.Text, Options: q.Options}
		case w.Approval != nil:
			a := w.Approval
			item.Agent, item.Task, until = a.Agent, a.Task, a.Until
			wanted := journal.ApprovalRequested{
				In: journal.In{Agent: a.Agent}, Call: a.Call, Tool: a.Tool, Hash: a.Hash, Pattern: a.Pattern, Show: a.Show,
			}
			for _, s := range a.Sources {
				wanted.Sources = append(wanted.Sources, journal.Source(s))
			}
			asks = wanted
		default:
			continue // it was settled while the list was made
		}
		if until != nil {
			item.Until = until.Local()
		}
		item.ID = inboxIDOf(w.Conversation, asks.Key())
		item.learn(asks)
		out = append(out, item)
	}
	return out, nil
}

// plain says in words of ours what kept a server from doing what it was asked.
func (r *Remote) plain(err error) error {
	err = remote.Cause(err)
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case chat.CodeUnavailable:
		e.Message = "the server at " + r.Address + " does not answer: " + e.Message +
			"; check the address and whether it runs, then try again"
	case chat.CodeDenied:
		e.Message = "the server at " + r.Address + " refuses the key: " + e.Message
	case chat.CodeInvalid, chat.CodeNotFound, chat.CodeConflict, chat.CodeLimit, chat.CodeInternal:
	}
	return e
}
