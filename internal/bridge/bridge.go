// Package bridge lets programs that speak other wires talk to the orchestrator. An Errand is one
// message of a person and all that comes of it, read from the journal; the packages below put it into
// the words of one wire each.
//
// It keeps nothing: an errand is found again by its conversation and its message, on any server.
// What it writes goes through the api's desk. It imports api, chat, progress and the ports journal and
// live.
package bridge

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/progress"
)

// Speaker is a role that talks to people.
type Speaker struct {
	Name        string
	Title       string
	Description string
}

// Cast knows the roles that talk to people.
type Cast interface {
	// Speakers lists them for a workspace, main first.
	Speakers(ctx context.Context, workspace string) ([]Speaker, error)
}

// Options are what a hall is made of.
type Options struct {
	Server *api.Server
	Log    journal.Reader
	Bus    live.Bus
	Cast   Cast
	// Poll is how often a watched conversation is looked at without being told to.
	Poll time.Duration
	Now  func() time.Time
}

// Hall is where errands take place.
type Hall struct {
	Options
	desk api.Desk
}

// defaultPoll is how often is looked although no notice came.
const defaultPoll = 2 * time.Second

// New makes a hall.
func New(o Options) *Hall {
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Hall{Options: o, desk: o.Server.Desk()}
}

// Message is what a person says over another wire.
type Message struct {
	// Key is the client's: the same key is the same message.
	Key  string
	Text string
	// Conversation is where it is said; empty begins one, with this role in this workspace.
	Conversation    string
	Role, Workspace string
	// Answers means that a question which waits is answered by it.
	Answers bool
}

// Post says something and returns what comes of it, which is heard from then on until the request
// ends. What was posted before under the same key is found again.
func (h *Hall) Post(request context.Context, m Message) (*Errand, error) {
	ctx, leave, err := h.desk.Admit(request)
	if err != nil {
		return nil, err
	}
	defer leave()
	place, err := h.desk.Place(ctx, m.Conversation)
	if err != nil {
		return nil, err
	}
	if m.Conversation == "" {
		if place, err = h.desk.Begin(ctx, m.Key, api.Talk{Role: m.Role, Workspace: m.Workspace}); err != nil {
			return nil, err
		}
	}
	state, err := h.Log.Snapshot(ctx, place)
	if err != nil {
		return nil, err
	}
	id := h.desk.MessageID(ctx, place, m.Key)
	said, _, err := h.said(ctx, place, id)
	if err != nil {
		return nil, err
	}
	question := said.InReplyTo
	if said.ID == "" && m.Answers {
		question = firstQuestion(state)
	}
	reader := h.listen(request, place)
	if err := h.desk.Say(ctx, place, m.Key, m.Text, question); err != nil {
		return nil, err
	}
	x, err := h.errand(ctx, place, id, state)
	if err != nil {
		return nil, err
	}
	x.reader = reader
	return x, nil
}

// Find returns the errand that a message began.
func (h *Hall) Find(ctx context.Context, name Name) (*Errand, error) {
	place, err := h.desk.Place(ctx, name.Conversation)
	if err != nil {
		return nil, err
	}
	state, err := h.Log.Snapshot(ctx, place)
	if err != nil {
		return nil, err
	}
	return h.errand(ctx, place, name.Message, state)
}

// Decide allows or denies a call that an errand waits for.
func (h *Hall) Decide(request context.Context, x *Errand, key string, v api.Verdict) error {
	ctx, leave, err := h.desk.Admit(request)
	if err != nil {
		return err
	}
	defer leave()
	x.listen(request)
	return h.desk.Decide(ctx, x.place, key, v)
}

// Answer says something in an errand that is under way: the answer to its oldest question, if it
// has asked one.
func (h *Hall) Answer(request context.Context, x *Errand, key, text string) error {
	ctx, leave, err := h.desk.Admit(request)
	if err != nil {
		return err
	}
	defer leave()
	state, err := h.Log.Snapshot(ctx, x.place)
	if err != nil {
		return err
	}
	said, _, err := h.said(ctx, x.place, h.desk.MessageID(ctx, x.place, key))
	if err != nil {
		return err
	}
	question := said.InReplyTo
	if said.ID == "" {
		question = firstQuestion(state)
	}
	x.listen(request)
	return h.desk.Say(ctx, x.place, key, text, question)
}

// Said reports whether the message of a key has been said in an errand's conversation.
func (h *Hall) Said(ctx context.Context, x *Errand, key string) bool {
	said, _, err := h.said(ctx, x.place, h.desk.MessageID(ctx, x.place, key))
	return err == nil && said.ID != ""
}

// Names lists the errands of a conversation, the last first.
func (h *Hall) Names(ctx context.Context, conversation string, limit int) ([]Name, error) {
	place, err := h.desk.Place(ctx, conversation)
	if err != nil {
		return nil, err
	}
	list, err := h.Log.Chat(ctx, place, journal.Page{Limit: journal.PageMaxLimit})
	if err != nil {
		return nil, err
	}
	var out []Name
	for _, m := range slices.Backward(list) {
		if m.Number > 0 && len(out) < limit {
			out = append(out, Name{Conversation: conversation, Message: m.ID})
		}
	}
	return out, nil
}

// Cancel stops everything in the errand's conversation.
func (h *Hall) Cancel(ctx context.Context, x *Errand, key string) error {
	ctx, leave, err := h.desk.Admit(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return h.desk.Cancel(ctx, x.place, key)
}

// said looks a message up; its id is empty if it has not been said.
func (h *Hall) said(ctx context.Context, place journal.Place, id string) (journal.Said, journal.Entry, error) {
	entries, err := h.Log.Find(ctx, place, journal.Said{ID: id}.Key())
	if err != nil || len(entries) == 0 {
		return journal.Said{}, journal.Entry{}, err
	}
	said, _ := entries[0].Row.(journal.Said) // nothing else has this key
	return said, entries[0], nil
}

// firstQuestion is the oldest question that waits for a person, empty if none does.
func firstQuestion(state journal.Snapshot) string {
	i := slices.IndexFunc(state.Questions, func(q journal.Question) bool { return q.Status == journal.QuestionRelayed })
	if i < 0 {
		return ""
	}
	return state.Questions[i].ID
}

// errand prepares to read what came of a message. The state may be older or younger than it.
func (h *Hall) errand(ctx context.Context, place journal.Place, id string, state journal.Snapshot) (*Errand, error) {
	said, entry, err := h.said(ctx, place, id)
	if err != nil {
		return nil, err
	}
	if said.ID == "" {
		return nil, journal.NotFound()
	}
	x := &Errand{
		Name: Name{Conversation: place.Conversation, Message: id}, At: entry.At, Asked: journal.Words(said.Parts),
		hall: h, place: place, after: min(state.Conversation.Seq, entry.Seq-1), tree: progress.New(place.Conversation, id),
		texts: map[string]string{}, turns: map[int]string{}, settled: map[string]bool{},
	}
	open, err := h.Log.Find(ctx, place, progress.Open(state)...)
	if err != nil {
		return nil, err
	}
	// What was asked later is met on the way.
	x.tree.Recall(state, slices.DeleteFunc(open, func(e journal.Entry) bool { return e.Seq > x.after }))
	return x, nil
}

// Name names an errand among all of a tenant.
type Name struct{ Conversation, Message string }

// String writes a name so that ParseName reads it.
func (n Name) String() string { return n.Conversation + "." + n.Message }

// ParseName reads a name. One that cannot be read is not found.
func ParseName(text string) (Name, error) {
	i := strings.LastIndexByte(text, '.')
	if i <= 0 || i == len(text)-1 {
		return Name{}, journal.NotFound()
	}
	return Name{Conversation: text[:i], Message: text[i+1:]}, nil
}
