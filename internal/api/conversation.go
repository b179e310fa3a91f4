package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// NewConversation is a conversation to be begun.
type NewConversation struct {
	By        string
	Title     string
	Workspace string
	Role      string
	Model     string
	Headless  bool
	// Cost (millionths of a US dollar) bounds the whole conversation, Time each turn; zero leaves what
	// the role says.
	Cost int64
	Time time.Duration
	// Command is a hash of all that was asked for.
	Command string
	// PrivateTo is the id of the only person who may see it; empty means everybody in the tenant.
	PrivateTo string
}

// Said is what a person posts.
type Said struct {
	ID, By, Text, InReplyTo string
	Decline                 bool
}

// Commands is where commands lead to. Each returns when what it was told is durable.
type Commands interface {
	// Open begins a conversation; doing so twice is the same as once.
	Open(ctx context.Context, ref journal.Ref, t NewConversation) error
	Say(ctx context.Context, ref journal.Ref, s Said) error
	Decide(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) error
	// Cancel stops one task, or everything if it is empty.
	Cancel(ctx context.Context, ref journal.Ref, id, by, task string) error
	// Archive takes a conversation off the list. Delete stops everything in it, then removes it, and
	// remembers by which command.
	Archive(ctx context.Context, ref journal.Ref, by string) error
	// Share lets everybody in the tenant see a conversation.
	Share(ctx context.Context, ref journal.Ref, by string) error
	Delete(ctx context.Context, ref journal.Ref, id, by string) error
}

// limit takes what a row says of the most that the conversation may cost.
func limit(s *wire.Snapshot, row journal.Row) {
	first, ok := row.(journal.TaskAssigned)
	if !ok || first.Task != chat.Root {
		return
	}
	var brief struct {
		Limits struct {
			Cost int64 `json:"cost"`
		} `json:"limits"`
	}
	if json.Unmarshal(first.Brief, &brief) == nil {
		s.MaxCost = brief.Limits.Cost
	}
}

type (
	createInput struct {
		route.Keyed
		Body wire.NewConversation
	}
	conversationOutput struct{ Body wire.Conversation }
	snapshotOutput     struct{ Body wire.Snapshot }
	conversationInput  struct{ route.InConversation }
	endInput           struct {
		route.InConversation
		route.Keyed
	}
	cancelInput struct {
		route.InConversation
		route.Keyed
		Body wire.Stop
	}
	acceptedOutput struct {
		Body wire.Accepted
	}
)

func (s *Server) conversationRoutes() {
	route.Add(s.table, admission.AccessCommand, huma.Operation{
		OperationID: "createConversation", Method: http.MethodPost, Path: "/v1/conversations", DefaultStatus: http.StatusCreated,
		Summary: "Begin a conversation", Tags: []string{"commands"},
	}, s.create)
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "getConversation", Method: http.MethodGet, Path: "/v1/conversations/{conversation}",
		Summary: "The state of a conversation, with all that waits for a person", Tags: []string{"conversations"},
	}, s.snapshot)
	route.Add(s.table, admission.AccessCommand, huma.Operation{
		OperationID: "cancel", Method: http.MethodPost, Path: "/v1/conversations/{conversation}/cancel",
		DefaultStatus: http.StatusAccepted, Summary: "Stop everything, or one task", Tags: []string{"commands"},
	}, s.cancel)
	route.Add(s.table, admission.AccessCommand, huma.Operation{
		OperationID: "archiveConversation", Method: http.MethodPost, Path: "/v1/conversations/{conversation}/archive",
		DefaultStatus: http.StatusAccepted, Summary: "Take a conversation off the list", Tags: []string{"commands"},
	}, s.archive)
	route.Add(s.table, admission.AccessCommand, huma.Operation{
		OperationID: "deleteConversation", Method: http.MethodDelete, Path: "/v1/conversations/{conversation}",
		DefaultStatus: http.StatusAccepted, Summary: "Stop everything, then remove the conversation", Tags: []string{"commands"},
	}, s.remove)
}

func (s *Server) create(ctx context.Context, in *createInput) (*conversationOutput, error) {
	caller := admission.CallerOf(ctx)
	ref := journal.Ref{Tenant: caller.Tenant, Conversation: "c" + in.ID(caller, "conversation")}
	b := in.Body
	owner, err := s.owner(ctx, b.Visibility)
	if err != nil {
		return nil, err
	}
	if err := s.room(ctx, ref, journal.Opened{}.Key(), int64(len(b.Title))); err != nil {
		return nil, err
	}
	err = s.options.Commands.Open(ctx, ref, NewConversation{
		By: caller.Name, Title: b.Title, Workspace: b.Workspace, Role: b.Role, Model: b.Model, Headless: b.Headless, Cost: b.MaxCost,
		Time: time.Duration(b.MaxDuration) * time.Millisecond, Command: s.asked(in), PrivateTo: owner,
	})
	if err != nil {
		return nil, err
	}
	first := Said{ID: "m" + in.ID(caller, ref.Conversation), By: caller.Name, Text: b.Message}
	if err := s.sameTalk(ctx, ref, in, first.ID); err != nil {
		return nil, err
	}
	if first.Text != "" {
		if _, err := s.say(ctx, ref, first); err != nil {
			return nil, err
		}
	}
	snapshot, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &conversationOutput{Body: events.Conversation(snapshot.Conversation)}, nil
}

// asked is a hash of all that a conversation is to be, with its first message.
func (s *Server) asked(in *createInput) string {
	b := in.Body
	return journal.HashOf(strings.Join([]string{
		s.recorded(b.Title), s.recorded(b.Workspace), cmp.Or(b.Role, chat.Root), b.Model, strconv.FormatBool(b.Headless),
		strconv.FormatInt(b.MaxCost, 10), strconv.FormatInt(b.MaxDuration, 10), s.recorded(b.Message), string(cmp.Or(b.Visibility, wire.VisibleToTenant)),
	}, "\x00"))
}

// sameTalk refuses a key under which another conversation was begun. Later changes to it, such as a
// new title, make no difference.
func (s *Server) sameTalk(ctx context.Context, ref journal.Ref, in *createInput, first string) error {
	b := in.Body
	entries, err := s.options.Log.Find(ctx, ref, journal.Opened{}.Key(), journal.MessageReceived{ID: first}.Key(),
		journal.TaskAssigned{In: journal.In{Task: chat.Root}}.Key())
	for _, e := range entries {
		same := true
		switch r := e.Row.(type) {
		case journal.Opened:
			if r.Command != "" {
				same = r.Command == s.asked(in)
				break
			}
			same = r.By == admission.CallerOf(ctx).Name && r.Title == s.recorded(b.Title) && (b.Workspace == "" || r.Workspace == s.recorded(b.Workspace))
		case journal.TaskAssigned:
			same = r.Role == cmp.Or(b.Role, chat.Root)
		case journal.MessageReceived:
			same = b.Message != ""
		default: // nothing else was asked for
		}
		if !same {
			return route.KeyReused()
		}
	}
	return err
}

// snapshotMessages is how many of the last messages a snapshot has.
const snapshotMessages = 100

func (s *Server) snapshot(ctx context.Context, in *conversationInput) (*snapshotOutput, error) {
	ref := in.Place(ctx)
	state, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	messages, err := s.options.Log.Chat(ctx, ref, journal.Page{Limit: snapshotMessages, Bytes: journal.PageBytes})
	if err != nil {
		return nil, err
	}
	out := wire.Snapshot{
		Conversation: events.Conversation(state.Conversation), Agents: route.Each(state.Agents, events.Agent),
		Messages: route.Each(upTo(messages, state.Conversation.Seq), events.Message),
	}
	out.Tasks = route.Each(state.Tasks, events.Task)
	err = s.rowsOf(ctx, ref, state.Tasks, func(i int, row journal.Row) {
		events.LearnTask(&out.Tasks[i], row)
		limit(&out, row)
	})
	if err != nil {
		return nil, err
	}
	if out.Notes, out.Turns, err = s.marks(ctx, ref, out.Messages, state.Conversation.Seq); err != nil {
		return nil, err
	}
	if err := s.states(ctx, ref, out.Messages, &state); err != nil {
		return nil, err
	}
	used, tokens, cost := state.Spent()
	out.Used, out.HeldTokens, out.HeldCost = events.Usage(used), tokens, cost
	if out.Questions, out.Approvals, err = s.asks(ctx, ref, state); err != nil {
		return nil, err
	}
	return &snapshotOutput{Body: out}, nil
}

// upTo leaves out messages that came after the state was read: they come with the events.
func upTo(list []journal.Message, seq int64) []journal.Message {
	for len(list) > 0 && list[len(list)-1].Seq > seq {
		list = list[:len(list)-1]
	}
	return list
}

func (s *Server) cancel(ctx context.Context, in *cancelInput) (*acceptedOutput, error) {
	caller, ref := admission.CallerOf(ctx), in.Place(ctx)
	key := journal.Opened{}.Key()
	if in.Body.Task != "" {
		key = journal.TaskAssigned{In: journal.In{Task: in.Body.Task}}.Key()
	}
	if err := s.exists(ctx, ref, key); err != nil {
		return nil, err
	}
	id := "x" + in.ID(caller, ref.Conversation)
	err := s.options.Commands.Cancel(ctx, ref, id, caller.Name, in.Body.Task)
	if other := s.sameCancel(ctx, ref, journal.Stop(id, caller.Name, in.Body.Task)); other != nil {
		return nil, other
	}
	if err != nil {
		return nil, err
	}
	return &acceptedOutput{Body: wire.Accepted{ID: id}}, nil
}

// sameCancel refuses a key under which something else was to stop. The first command with a key is
// the one on record.
func (s *Server) sameCancel(ctx context.Context, ref journal.Ref, post journal.MailPosted) error {
	entries, err := s.options.Log.Find(ctx, ref, post.Key())
	for _, e := range entries {
		if before, _ := e.Row.(journal.MailPosted); before.Task != post.Task {
			return route.KeyReused()
		}
	}
	return err
}

// exists complains if a conversation has no row under a key.
func (s *Server) exists(ctx context.Context, ref journal.Ref, key string) error {
	entries, err := s.options.Log.Find(ctx, ref, key)
	if err == nil && len(entries) == 0 {
		err = journal.NotFound()
	}
	return err
}

func (s *Server) archive(ctx context.Context, in *endInput) (*acceptedOutput, error) {
	caller, ref := admission.CallerOf(ctx), in.Place(ctx)
	if err := s.exists(ctx, ref, journal.Opened{}.Key()); err != nil {
		return nil, err
	}
	if err := s.options.Commands.Archive(ctx, ref, caller.Name); err != nil {
		return nil, err
	}
	return &acceptedOutput{Body: wire.Accepted{ID: "e" + in.ID(caller, ref.Conversation)}}, nil
}

// remove deletes a conversation. Sent again when nothing is left of it, the command is the one that
// the tombstone names.
func (s *Server) remove(ctx context.Context, in *endInput) (*acceptedOutput, error) {
	caller, ref := admission.CallerOf(ctx), in.Place(ctx)
	out := &acceptedOutput{Body: wire.Accepted{ID: "e" + in.ID(caller, ref.Conversation)}}
	err := s.exists(ctx, ref, journal.Opened{}.Key())
	if err == nil {
		err = s.options.Commands.Delete(ctx, ref, out.Body.ID, caller.Name)
	}
	if chat.CodeOf(err) == chat.CodeNotFound {
		if stone, gone := s.options.Log.Erased(ctx, ref); gone == nil && stone.Command == out.Body.ID {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// erase deletes a conversation for those who look after a tenant.
func (s *Server) erase(ctx context.Context, ref journal.Ref, id, by string) error {
	return s.options.Commands.Delete(ctx, ref, id, by)
}
