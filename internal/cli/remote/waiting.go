package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/progress"
)

// Waiting is something in a conversation that waits for a person.
type Waiting struct {
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

// Waits is what waits for a person, the oldest first.
func (s *Server) Waits(ctx context.Context) ([]Waiting, error) {
	list, err := s.Inbox(ctx, inboxMost)
	if err != nil {
		return nil, s.Explain(err)
	}
	var out []Waiting
	for _, w := range list {
		item := Waiting{Conversation: w.Conversation, At: w.At}
		switch {
		case w.Question != nil:
			item.Pending = progress.Pending{Question: w.Question.ID, Text: w.Question.Text, Options: w.Question.Options}
			item.about(w.Question.ID, w.Question.Agent, w.Question.Until)
		case w.Approval != nil:
			a := w.Approval
			item.Pending = progress.Pending{
				Approval: a.ID, Call: a.Call, Hash: a.Hash, Tool: a.Tool, Text: progress.Literal(a.Show), Pattern: a.Pattern, Sources: a.Sources,
			}
			item.about(a.ID, a.Agent, a.Until)
		default:
			continue // it was settled while the list was made
		}
		item.Role = w.Role
		out = append(out, item)
	}
	return out, nil
}

// about completes an item by its id in its conversation, by who asks and until when.
func (w *Waiting) about(id, agent string, until *time.Time) {
	sum := sha256.Sum256([]byte(w.Conversation + "\n" + id))
	w.ID, w.Agent = hex.EncodeToString(sum[:])[:inboxID], agent
	if until != nil {
		w.Until = until.Local()
	}
}

// Find finds what waits under an id, or the beginning of one.
func Find(items []Waiting, id string) (Waiting, error) {
	var found []Waiting
	for _, item := range items {
		if id != "" && strings.HasPrefix(item.ID, id) {
			found = append(found, item)
		}
	}
	switch len(found) {
	case 0:
		return Waiting{}, &chat.Error{
			Code: chat.CodeNotFound, Message: "nothing waits under " + id + ": it may have been decided, or has expired; see 'retinue inbox'",
		}
	case 1:
		return found[0], nil
	}
	return Waiting{}, &chat.Error{Code: chat.CodeInvalid, Message: "several things wait under " + id + ": write more of the id"}
}
