package remote

import (
	"context"
	"errors"
	"net/url"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// Server is the API that a command works with: that of a server elsewhere, of the one that runs on
// the data folder, or of this process.
type Server struct {
	*client.Client
	// Address is where it is, as people read it; empty for that of this process.
	Address string
}

// Say posts a message and returns its id. The same key posts it once.
func (s *Server) Say(ctx context.Context, conversation, key, text string) (string, error) {
	m, err := s.Keyed(key).Post(ctx, conversation, wire.NewMessage{Text: text})
	return m.ID, s.Explain(err)
}

// Answer answers a question.
func (s *Server) Answer(ctx context.Context, conversation, question, text string) error {
	_, err := s.Post(ctx, conversation, wire.NewMessage{Text: text, InReplyTo: question})
	return s.Explain(err)
}

// declined is the text of a message that declines a question.
const declined = "I will not answer this."

// Decline says that nobody will answer a question.
func (s *Server) Decline(ctx context.Context, conversation, question string) error {
	_, err := s.Post(ctx, conversation, wire.NewMessage{Text: declined, InReplyTo: question, Decline: true})
	return s.Explain(err)
}

// Settle decides about a call that wants approval, as it was shown.
func (s *Server) Settle(ctx context.Context, conversation string, p progress.Pending, d wire.Decision) error {
	d.Hash = p.Hash
	_, err := s.Decide(ctx, conversation, p.Approval, d)
	return s.Explain(err)
}

// codes are those of problems that have another name here.
var codes = map[string]chat.Code{"unauthorised": chat.CodeDenied, "forbidden": chat.CodeDenied}

// cause is an error of the client as one with a code. That the server could not be reached is one
// too.
func cause(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	p, ok := errors.AsType[*client.Problem](err)
	if !ok {
		if request, ok := errors.AsType[*url.Error](err); ok {
			err = request.Err // which request it was helps nobody
		}
		return &chat.Error{Code: chat.CodeUnavailable, Message: err.Error()}
	}
	out := &chat.Error{Code: chat.Code(p.Code), Message: p.Detail}
	if code, other := codes[p.Code]; other {
		out.Code = code
	}
	for _, e := range p.Errors {
		out.Message += "; " + e.Location + " " + e.Message
	}
	if p.Next != "" && out.Code != chat.CodeInvalid { // what to do then is said to programs: it names fields
		out.Message += " (" + p.Next + ")"
	}
	return out
}

// Explain says why a server did not do what it was asked, and what to do.
func (s *Server) Explain(err error) error {
	err = cause(err)
	e, ok := errors.AsType[*chat.Error](err)
	if !ok || s.Address == "" {
		return err
	}
	switch e.Code {
	case chat.CodeUnavailable:
		e.Message = "the server at " + s.Address + " does not answer: " + e.Message +
			"; check the address and whether it runs, then try again"
	case chat.CodeDenied:
		e.Message = "the server at " + s.Address + " refuses the key: " + e.Message
	case chat.CodeInvalid, chat.CodeNotFound, chat.CodeConflict, chat.CodeLimit, chat.CodeInternal:
	}
	return e
}
