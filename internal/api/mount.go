package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

// Mounted is a route of a package that speaks another wire. It is no part of the document.
type Mounted struct {
	Access admission.Access
	Method string
	Path   string
	Handle http.HandlerFunc
	// Refuse answers a caller that is refused, in the shape that the clients of the wire know. Status
	// and headers are its to write.
	Refuse func(http.ResponseWriter, *http.Request, *admission.Problem)
}

// Mount adds a route. It goes through the same guard as all others.
func (s *Server) Mount(m Mounted) {
	if m.Refuse != nil {
		s.guard.Shape(m.Method+" "+m.Path, m.Refuse)
	}
	k := admission.KindStream // an answer may take as long as one
	if m.Access.Scope == people.ScopeWrite {
		k = admission.KindLong
	}
	s.table.Handle(route.Way{Access: m.Access, Method: m.Method, Path: m.Path}, k, m.Handle)
}

// Commander takes commands from packages that speak another wire, and carries them out exactly as
// the server's own routes do. The caller is the one of the context.
type Commander struct{ server *Server }

// Commander is where mounted routes bring commands.
func (s *Server) Commander() Commander { return Commander{server: s} }

// The limits of what the document describes, for those that it does not bind.
const (
	maxNote         = 2_000
	maxArgs         = 200_000
	maxConversation = 128
	maxReference    = 512
)

// tooLong refuses a text with more characters than its route would take.
func tooLong(what, text string, most int) error {
	if utf8.RuneCountInString(text) <= most {
		return nil
	}
	return &admission.Problem{
		Code: "invalid", Detail: fmt.Sprintf("%s is longer than %d characters", what, most), Next: "send less",
	}
}

// Place is where a conversation is, for the caller of the context.
func (d Commander) Place(ctx context.Context, conversation string) (journal.Ref, error) {
	return journal.Ref{Tenant: admission.CallerOf(ctx).Tenant, Conversation: conversation},
		tooLong("the id of the conversation", conversation, maxConversation)
}

// Admit takes a place among the commands that are carried out, or says why there is none. It is
// left when the command is recorded, and before the answer is waited for. The context ends when a
// command is given up.
func (d Commander) Admit(ctx context.Context) (inner context.Context, leave func(), err error) {
	return d.server.guard.Begin(ctx, admission.KindCommand)
}

// Begin opens a conversation. The same key opens the same one.
func (d Commander) Begin(ctx context.Context, key string, n wire.NewConversation) (journal.Ref, error) {
	// The key itself stands for the message that follows.
	in := &createInput{Keyed: route.Keyed{Key: "begin/" + key}, Body: n}
	out, err := d.server.create(ctx, in)
	if err != nil {
		return journal.Ref{}, err
	}
	return journal.Ref{Tenant: admission.CallerOf(ctx).Tenant, Conversation: out.Body.ID}, nil
}

// MessageID is the id of the message that a key stands for in a conversation.
func (d Commander) MessageID(ctx context.Context, ref journal.Ref, key string) string {
	return "m" + route.Keyed{Key: key}.ID(admission.CallerOf(ctx), ref.Conversation)
}

// Say posts a message under the id of its key. InReplyTo names the question that it answers.
func (d Commander) Say(ctx context.Context, ref journal.Ref, key, text, inReplyTo string) error {
	if err := cmp.Or(tooLong("the text", text, wire.MaxText), tooLong("the question's id", inReplyTo, maxReference)); err != nil {
		return err
	}
	in := &postInput{InConversation: route.InConversation{Conversation: ref.Conversation}, Keyed: route.Keyed{Key: key}}
	in.Body.Text, in.Body.InReplyTo = text, inReplyTo
	_, err := d.server.post(ctx, in)
	return err
}

// Verdict is a person's decision about an approval.
type Verdict struct {
	Approval, Hash, Scope, Note string
	Allow                       bool
}

// Decide allows or denies a call.
func (d Commander) Decide(ctx context.Context, ref journal.Ref, key string, v Verdict) error {
	if _, ok := scopes[v.Scope]; !ok {
		return &admission.Problem{Code: "invalid", Detail: "scope is none of once, task and conversation"}
	}
	if err := cmp.Or(tooLong("the note", v.Note, maxNote), tooLong("the approval's id", v.Approval, maxReference)); err != nil {
		return err
	}
	in := &decideInput{Keyed: route.Keyed{Key: key}}
	in.Conversation, in.Approval = ref.Conversation, v.Approval
	in.Body.Allow, in.Body.Hash, in.Body.Scope, in.Body.Note = v.Allow, v.Hash, v.Scope, v.Note
	_, err := d.server.decide(ctx, in)
	return err
}

// Cancel stops everything in a conversation.
func (d Commander) Cancel(ctx context.Context, ref journal.Ref, key string) error {
	in := &cancelInput{InConversation: route.InConversation{Conversation: ref.Conversation}, Keyed: route.Keyed{Key: key}}
	_, err := d.server.cancel(ctx, in)
	return err
}
