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

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// NewConversation is a conversation to be begun.
type NewConversation struct {
	By        string
	Title     string
	Workspace string
	Role      string
	Model     string
	Headless  bool
	// Cost (millionths of a US dollar) bounds the whole conversation, Time each turn; zero leaves what the
	// role says.
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

// InConversation names a conversation.
type InConversation struct {
	Conversation string `path:"conversation" minLength:"1" maxLength:"128"`
}

// place is where the conversation is, for this caller. Nothing is looked for anywhere else.
func (p InConversation) place(ctx context.Context) journal.Ref {
	return journal.Ref{Tenant: callerOf(ctx).Tenant, Conversation: p.Conversation}
}

// Snapshot is the state of a conversation after event seq.
type Snapshot struct {
	Conversation Conversation `json:"conversation"`
	Agents       []Agent      `json:"agents"`
	Tasks        []Task       `json:"tasks"`
	Questions    []Question   `json:"questions" doc:"Those that are open have their text."`
	Approvals    []Approval   `json:"approvals" doc:"Those that are open have what the person is shown."`
	Messages     []Message    `json:"messages" doc:"The last that people and the orchestrator said."`
	Notes        []Note       `json:"notes" doc:"What people were told between these messages, the last of it."`
	Turns        []TurnEnd    `json:"turns" doc:"The ends of the orchestrator's turns between these messages, the last of them."`
	Used         Usage        `json:"used"`
	HeldTokens   int64        `json:"held_tokens" doc:"Reserved by calls that are under way or whose end nobody knows."`
	HeldCost     int64        `json:"held_micro_usd"`
	MaxCost      int64        `json:"max_cost_micro_usd,omitempty" doc:"The most that the conversation may cost; absent if nobody set a limit."`
}

// learn takes what a row says of the whole conversation.
func (s *Snapshot) learn(row journal.Row) {
	first, ok := row.(journal.TaskAssigned)
	if !ok || first.Task != orchestrator {
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
		Keyed
		Body struct {
			Title     string `json:"title,omitempty" maxLength:"200"`
			Workspace string `json:"workspace,omitempty" maxLength:"1024" doc:"Where the files are. Empty for a talk without files."`
			Role      string `json:"role,omitempty" maxLength:"64" doc:"Who talks to you; empty means main."`
			Model     string `json:"model,omitempty" maxLength:"200" doc:"Replaces the role's model."`
			Headless  bool   `json:"headless,omitempty" doc:"Nobody is there: what would be asked is declined."`
			MaxCost   int64  `json:"max_cost_micro_usd,omitempty" minimum:"0" doc:"The most that the conversation may cost."`
			MaxTime   int64  `json:"max_duration_ms,omitempty" minimum:"0" maximum:"31536000000" doc:"The most that a turn may take, in milliseconds; waiting for a person does not count."`
			Message   string `json:"message,omitempty" maxLength:"200000" doc:"The first message."`
			// Visibility is for the whole conversation.
			Visibility Visibility `json:"visibility,omitempty" enum:"tenant,private" default:"tenant" doc:"Who may see it: everybody in the tenant, or only you until you share it."`
		}
	}
	conversationOutput struct{ Body Conversation }
	snapshotOutput     struct{ Body Snapshot }
	conversationInput  struct{ InConversation }
	endInput           struct {
		InConversation
		Keyed
	}
	cancelInput struct {
		InConversation
		Keyed
		Body struct {
			Task string `json:"task,omitempty" maxLength:"512" doc:"The task to stop, with all below it. Empty means everything."`
		}
	}
	acceptedOutput struct {
		Body Accepted
	}
)

// Accepted says that a command is recorded and will be carried out.
type Accepted struct {
	ID string `json:"id" doc:"Names the command. The same key gives the same id."`
}

func (s *Server) conversationRoutes() {
	register(s, accessCommand, huma.Operation{
		OperationID: "createConversation", Method: http.MethodPost, Path: "/v1/conversations", DefaultStatus: http.StatusCreated,
		Summary: "Begin a conversation", Tags: []string{"commands"},
	}, s.create)
	register(s, accessRead, huma.Operation{
		OperationID: "getConversation", Method: http.MethodGet, Path: "/v1/conversations/{conversation}",
		Summary: "The state of a conversation, with all that waits for a person", Tags: []string{"conversations"},
	}, s.snapshot)
	register(s, accessCommand, huma.Operation{
		OperationID: "cancel", Method: http.MethodPost, Path: "/v1/conversations/{conversation}/cancel",
		DefaultStatus: http.StatusAccepted, Summary: "Stop everything, or one task", Tags: []string{"commands"},
	}, s.cancel)
	register(s, accessCommand, huma.Operation{
		OperationID: "archiveConversation", Method: http.MethodPost, Path: "/v1/conversations/{conversation}/archive",
		DefaultStatus: http.StatusAccepted, Summary: "Take a conversation off the list", Tags: []string{"commands"},
	}, s.archive)
	register(s, accessCommand, huma.Operation{
		OperationID: "deleteConversation", Method: http.MethodDelete, Path: "/v1/conversations/{conversation}",
		DefaultStatus: http.StatusAccepted, Summary: "Stop everything, then remove the conversation", Tags: []string{"commands"},
	}, s.remove)
}

func (s *Server) create(ctx context.Context, in *createInput) (*conversationOutput, error) {
	caller := callerOf(ctx)
	ref := journal.Ref{Tenant: caller.Tenant, Conversation: "c" + in.id(caller, "conversation")}
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
		Time: time.Duration(b.MaxTime) * time.Millisecond, Command: s.asked(in), PrivateTo: owner,
	})
	if err != nil {
		return nil, err
	}
	first := Said{ID: "m" + in.id(caller, ref.Conversation), By: caller.Name, Text: b.Message}
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
	return &conversationOutput{Body: conversationOf(snapshot.Conversation)}, nil
}

// asked is a hash of all that a conversation is to be, with its first message.
func (s *Server) asked(in *createInput) string {
	b := in.Body
	return journal.HashOf(strings.Join([]string{
		s.recorded(b.Title), s.recorded(b.Workspace), cmp.Or(b.Role, orchestrator), b.Model, strconv.FormatBool(b.Headless),
		strconv.FormatInt(b.MaxCost, 10), strconv.FormatInt(b.MaxTime, 10), s.recorded(b.Message), string(cmp.Or(b.Visibility, VisibleToTenant)),
	}, "\x00"))
}

// sameTalk refuses a key under which another conversation was begun. Later changes to it, such as a new
// title, make no difference.
func (s *Server) sameTalk(ctx context.Context, ref journal.Ref, in *createInput, first string) error {
	b := in.Body
	entries, err := s.options.Log.Find(ctx, ref, journal.Opened{}.Key(), journal.MessageReceived{ID: first}.Key(),
		journal.TaskAssigned{In: journal.In{Task: orchestrator}}.Key())
	for _, e := range entries {
		same := true
		switch r := e.Row.(type) {
		case journal.Opened:
			if r.Command != "" {
				same = r.Command == s.asked(in)
				break
			}
			same = r.By == callerOf(ctx).Name && r.Title == s.recorded(b.Title) && (b.Workspace == "" || r.Workspace == s.recorded(b.Workspace))
		case journal.TaskAssigned:
			same = r.Role == cmp.Or(b.Role, orchestrator)
		case journal.MessageReceived:
			same = b.Message != ""
		default: // nothing else was asked for
		}
		if !same {
			return keyReused()
		}
	}
	return err
}

// snapshotMessages is how many of the last messages a snapshot has.
const snapshotMessages = 100

func (s *Server) snapshot(ctx context.Context, in *conversationInput) (*snapshotOutput, error) {
	ref := in.place(ctx)
	state, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	messages, err := s.options.Log.Chat(ctx, ref, journal.Page{Limit: snapshotMessages, Bytes: journal.PageBytes})
	if err != nil {
		return nil, err
	}
	out := Snapshot{
		Conversation: conversationOf(state.Conversation), Agents: each(state.Agents, agentOf),
		Messages: each(upTo(messages, state.Conversation.Seq), messageOf),
	}
	out.Tasks = each(state.Tasks, taskOf)
	err = s.rowsOf(ctx, ref, state.Tasks, func(i int, row journal.Row) {
		out.Tasks[i].learn(row)
		out.learn(row)
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
	out.Used, out.HeldTokens, out.HeldCost = usageOf(used), tokens, cost
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
	caller, ref := callerOf(ctx), in.place(ctx)
	key := journal.Opened{}.Key()
	if in.Body.Task != "" {
		key = journal.TaskAssigned{In: journal.In{Task: in.Body.Task}}.Key()
	}
	if err := s.exists(ctx, ref, key); err != nil {
		return nil, err
	}
	id := "x" + in.id(caller, ref.Conversation)
	err := s.options.Commands.Cancel(ctx, ref, id, caller.Name, in.Body.Task)
	if other := s.sameCancel(ctx, ref, journal.Stop(id, caller.Name, in.Body.Task)); other != nil {
		return nil, other
	}
	if err != nil {
		return nil, err
	}
	return &acceptedOutput{Body: Accepted{ID: id}}, nil
}

// sameCancel refuses a key under which something else was to stop. The first command with a key is the one on record.
func (s *Server) sameCancel(ctx context.Context, ref journal.Ref, post journal.MailPosted) error {
	entries, err := s.options.Log.Find(ctx, ref, post.Key())
	for _, e := range entries {
		if before, _ := e.Row.(journal.MailPosted); before.Task != post.Task {
			return keyReused()
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
	caller, ref := callerOf(ctx), in.place(ctx)
	if err := s.exists(ctx, ref, journal.Opened{}.Key()); err != nil {
		return nil, err
	}
	if err := s.options.Commands.Archive(ctx, ref, caller.Name); err != nil {
		return nil, err
	}
	return &acceptedOutput{Body: Accepted{ID: "e" + in.id(caller, ref.Conversation)}}, nil
}

// remove deletes a conversation. Sent again when nothing is left of it, the command is the one that the
// tombstone names.
func (s *Server) remove(ctx context.Context, in *endInput) (*acceptedOutput, error) {
	caller, ref := callerOf(ctx), in.place(ctx)
	out := &acceptedOutput{Body: Accepted{ID: "e" + in.id(caller, ref.Conversation)}}
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
