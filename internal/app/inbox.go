package app

import (
	"context"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/progress"
)

// InboxItem is something in a conversation that waits for a person.
type InboxItem struct {
	progress.Pending
	// ID names it as long as it waits, in any conversation of the tenant.
	ID           string
	Conversation string
	At           time.Time
	// Until is when nobody need decide any more; zero means never.
	Until time.Time
}

const (
	// inboxMost is the longest inbox that is read.
	inboxMost = 1000
	// inboxID is the length of the ids. The beginning of one is enough while only one id begins so.
	inboxID = 12
)

// Inbox is what waits for a person, the oldest first.
func (n *Node) Inbox(ctx context.Context) ([]InboxItem, error) {
	waiting, err := n.Log.Inbox(ctx, LocalTenant, inboxMost)
	if err != nil {
		return nil, err
	}
	var out []InboxItem
	for _, w := range waiting {
		item := InboxItem{
			ID: inboxIDOf(w.Conversation, w.Key), Conversation: w.Conversation, At: w.At,
			Pending: progress.Pending{Agent: w.Agent, Task: w.Task},
		}
		if w.Until > 0 {
			item.Until = time.UnixMilli(w.Until)
		}
		entries, err := n.Log.Find(ctx, here(w.Conversation), w.Key, journal.TaskAssigned{In: journal.In{Task: w.Task}}.Key())
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			item.learn(e.Row)
		}
		out = append(out, item)
	}
	return out, nil
}

// learn takes what a row says of the item.
func (i *InboxItem) learn(row journal.Row) {
	switch r := row.(type) {
	case journal.QuestionAsked:
		i.Question, i.Text, i.Options = r.Question, r.Text, r.Options
	case journal.ApprovalRequested:
		i.Call, i.Hash, i.Tool, i.Text, i.Pattern, i.Sources = r.Call, r.Hash, r.Tool, progress.Literal(r.Show), r.Pattern, events.Sources(r.Sources)
	case journal.TaskAssigned:
		i.Role = r.Role
	default: // nothing else was asked for
	}
}

// inboxIDOf is the id of what waits under a key of a conversation.
func inboxIDOf(conversation, key string) string {
	return journal.HashOf(conversation + "\n" + key)[:inboxID]
}

// FindInInbox finds what waits under an id, or the beginning of one.
func FindInInbox(items []InboxItem, id string) (InboxItem, error) {
	var found []InboxItem
	for _, item := range items {
		if id != "" && strings.HasPrefix(item.ID, id) {
			found = append(found, item)
		}
	}
	switch len(found) {
	case 0:
		return InboxItem{}, &chat.Error{
			Code: chat.CodeNotFound, Message: "nothing waits under " + id + ": it may have been decided, or has expired; see 'retinue inbox'",
		}
	case 1:
		return found[0], nil
	}
	return InboxItem{}, &chat.Error{Code: chat.CodeInvalid, Message: "several things wait under " + id + ": write more of the id"}
}
