// Package bridge lets programs that speak other wires talk to the orchestrator. A user turn is one
// message of a person and its effects, read from the journal; each package below translates it for
// one wire.
//
// It keeps nothing: a user turn is found again by its conversation and its message, on any server.
// It writes through the api's commander. It imports api, chat, progress and the ports journal and
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
	"github.com/retinue-dev/retinue/wire"
)

// Speaker is a role that talks to people.
type Speaker struct {
	Name        string
	Title       string
	Description string
}

// Speakers knows the roles that talk to people.
type Speakers interface {
	// Speakers lists them for a workspace, main first.
	Speakers(ctx context.Context, workspace string) ([]Speaker, error)
}

// Options are what a service is made of.
type Options struct {
	Server *api.Server
	Log    journal.Reader
	Bus    live.Bus
	Cast   Speakers
	// Poll is how often to read a watched conversation when no notice arrives.
	Poll time.Duration
	Now  func() time.Time
}

// Service is where user turns take place.
type Service struct {
	Options
	commander api.Commander
}

// defaultPoll is the time between two looks that no notice asks for.
const defaultPoll = 2 * time.Second

// New makes a service.
func New(o Options) *Service {
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{Options: o, commander: o.Server.Commander()}
}

// Message is a person's message over another wire.
type Message struct {
	// Key is the client's: the same key is the same message.
	Key  string
	Text string
	// Conversation gets the message; empty begins one, with this role in this workspace.
	Conversation    string
	Role, Workspace string
	// Answers means that a question which waits is answered by it.
	Answers bool
}

// Post posts a message and returns its user turn, which listens from then on until the request
// ends. A message that was posted before under the same key is found again.
func (h *Service) Post(request context.Context, m Message) (*UserTurn, error) {
	ctx, leave, err := h.commander.Admit(request)
	if err != nil {
		return nil, err
	}
	defer leave()
	ref, err := h.commander.Place(ctx, m.Conversation)
	if err != nil {
		return nil, err
	}
	if m.Conversation == "" {
		if ref, err = h.commander.Begin(ctx, m.Key, wire.NewConversation{Role: m.Role, Workspace: m.Workspace}); err != nil {
			return nil, err
		}
	}
	state, err := h.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	id := h.commander.MessageID(ctx, ref, m.Key)
	said, _, err := h.said(ctx, ref, id)
	if err != nil {
		return nil, err
	}
	question := said.InReplyTo
	if said.ID == "" && m.Answers {
		question = firstQuestion(state)
	}
	reader := h.listen(request, ref)
	if err := h.commander.Say(ctx, ref, m.Key, m.Text, question); err != nil {
		return nil, err
	}
	x, err := h.userTurn(ctx, ref, id, state)
	if err != nil {
		return nil, err
	}
	x.reader = reader
	return x, nil
}

// Find returns the user turn that a message began.
func (h *Service) Find(ctx context.Context, name Name) (*UserTurn, error) {
	ref, err := h.commander.Place(ctx, name.Conversation)
	if err != nil {
		return nil, err
	}
	state, err := h.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	return h.userTurn(ctx, ref, name.Message, state)
}

// Decide allows or denies a call that a user turn waits for.
func (h *Service) Decide(request context.Context, x *UserTurn, key string, v api.Verdict) error {
	ctx, leave, err := h.commander.Admit(request)
	if err != nil {
		return err
	}
	defer leave()
	x.listen(request)
	return h.commander.Decide(ctx, x.ref, key, v)
}

// Answer says something in a user turn that is under way: the answer to its oldest question, if it
// has asked one.
func (h *Service) Answer(request context.Context, x *UserTurn, key, text string) error {
	ctx, leave, err := h.commander.Admit(request)
	if err != nil {
		return err
	}
	defer leave()
	state, err := h.Log.Snapshot(ctx, x.ref)
	if err != nil {
		return err
	}
	said, _, err := h.said(ctx, x.ref, h.commander.MessageID(ctx, x.ref, key))
	if err != nil {
		return err
	}
	question := said.InReplyTo
	if said.ID == "" {
		question = firstQuestion(state)
	}
	x.listen(request)
	return h.commander.Say(ctx, x.ref, key, text, question)
}

// Said reports whether the message of a key has been said in a user turn's conversation.
func (h *Service) Said(ctx context.Context, x *UserTurn, key string) bool {
	said, _, err := h.said(ctx, x.ref, h.commander.MessageID(ctx, x.ref, key))
	return err == nil && said.ID != ""
}

// Names lists the user turns of a conversation, the last first.
func (h *Service) Names(ctx context.Context, conversation string, limit int) ([]Name, error) {
	ref, err := h.commander.Place(ctx, conversation)
	if err != nil {
		return nil, err
	}
	list, err := h.Log.Chat(ctx, ref, journal.Page{Limit: journal.PageMaxLimit})
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

// Cancel stops everything in the user turn's conversation.
func (h *Service) Cancel(ctx context.Context, x *UserTurn, key string) error {
	ctx, leave, err := h.commander.Admit(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return h.commander.Cancel(ctx, x.ref, key)
}

// said looks a message up; its id is empty if it has not been said.
func (h *Service) said(ctx context.Context, ref journal.Ref, id string) (journal.MessageReceived, journal.Entry, error) {
	entries, err := h.Log.Find(ctx, ref, journal.MessageReceived{ID: id}.Key())
	if err != nil || len(entries) == 0 {
		return journal.MessageReceived{}, journal.Entry{}, err
	}
	said, _ := entries[0].Row.(journal.MessageReceived) // nothing else has this key
	return said, entries[0], nil
}

// firstQuestion is the oldest question that waits for a person, empty if none does.
func firstQuestion(state journal.Snapshot) string {
	i := slices.IndexFunc(state.Questions, func(q journal.Question) bool { return q.Status == journal.QuestionStatusRelayed })
	if i < 0 {
		return ""
	}
	return state.Questions[i].ID
}

// userTurn prepares to read the effects of a message. The state may be older or younger than it.
func (h *Service) userTurn(ctx context.Context, ref journal.Ref, id string, state journal.Snapshot) (*UserTurn, error) {
	said, entry, err := h.said(ctx, ref, id)
	if err != nil {
		return nil, err
	}
	if said.ID == "" {
		return nil, journal.NotFound()
	}
	x := &UserTurn{
		Name: Name{Conversation: ref.Conversation, Message: id}, At: entry.At, Asked: journal.Words(said.Parts),
		service: h, ref: ref, after: min(state.Conversation.Seq, entry.Seq-1), tree: progress.New(ref.Conversation, id),
		texts: map[string]string{}, turns: map[int]string{}, settled: map[string]bool{},
	}
	open, err := h.Log.Find(ctx, ref, progress.Open(state)...)
	if err != nil {
		return nil, err
	}
	// Later approvals and questions are met on the way.
	x.tree.Recall(state, slices.DeleteFunc(open, func(e journal.Entry) bool { return e.Seq > x.after }))
	return x, nil
}

// Name names a user turn among all of a tenant.
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
