package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

type (
	postInput struct {
		route.InConversation
		route.Keyed
		Body wire.NewMessage
	}
	messageOutput  struct{ Body wire.Message }
	messagesOutput struct{ Body wire.Page[wire.Message] }
	pageInput      struct {
		route.InConversation
		route.Paged
	}
)

func (s *Server) messageRoutes() {
	route.Add(s.table, admission.AccessCommand, huma.Operation{
		OperationID: "postMessage", Method: http.MethodPost, Path: "/v1/conversations/{conversation}/messages",
		DefaultStatus: http.StatusCreated, Summary: "Say something to the orchestrator, or answer a question",
		Tags: []string{"commands"},
	}, s.post)
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "listMessages", Method: http.MethodGet, Path: "/v1/conversations/{conversation}/messages",
		Summary: "What people and the orchestrator said to each other", Tags: []string{"conversations"},
	}, s.messages)
}

func (s *Server) post(ctx context.Context, in *postInput) (*messageOutput, error) {
	caller, ref := admission.CallerOf(ctx), in.Place(ctx)
	said := Said{
		ID: "m" + in.ID(caller, ref.Conversation), By: caller.Name, Text: in.Body.Text, InReplyTo: in.Body.InReplyTo,
		Decline: in.Body.Decline,
	}
	about := journal.Opened{}.Key()
	if said.InReplyTo != "" {
		about = journal.QuestionAsked{Question: said.InReplyTo}.Key()
	}
	if err := s.exists(ctx, ref, about); err != nil {
		return nil, err
	}
	entry, err := s.say(ctx, ref, said)
	if err != nil {
		return nil, err
	}
	return &messageOutput{Body: events.Message(journal.MessageOf(entry))}, nil
}

func orNotFound(err error) error {
	if err == nil {
		err = journal.NotFound()
	}
	return err
}

// say records a message and returns what is on record. A key that stands for another message is
// refused.
func (s *Server) say(ctx context.Context, ref journal.Ref, said Said) (journal.Entry, error) {
	if said.InReplyTo == "" { // an agent that waits for an answer gets it
		if err := s.room(ctx, ref, journal.MessageReceived{ID: said.ID}.Key(), int64(len(said.Text))); err != nil {
			return journal.Entry{}, err
		}
	}
	if err := s.options.Commands.Say(ctx, ref, said); err != nil {
		return journal.Entry{}, err
	}
	entries, err := s.options.Log.Find(ctx, ref, journal.MessageReceived{ID: said.ID}.Key())
	if err != nil || len(entries) == 0 {
		return journal.Entry{}, orNotFound(err)
	}
	first, _ := entries[0].Row.(journal.MessageReceived)
	if journal.Words(first.Parts) != s.recorded(said.Text) || first.InReplyTo != said.InReplyTo || first.Decline != said.Decline {
		return journal.Entry{}, route.KeyReused()
	}
	return entries[0], nil
}

// recorded is a text as the journal keeps it.
func (s *Server) recorded(text string) string { return journal.Printable(s.options.Redact(text)) }

func (s *Server) messages(ctx context.Context, in *pageInput) (*messagesOutput, error) {
	ref := in.Place(ctx)
	list, err := s.options.Log.Chat(ctx, ref, journal.Page{Limit: in.Limit, Before: in.Before, Bytes: journal.PageBytes})
	if err != nil {
		return nil, err
	}
	out := route.Page(list, in.Limit, events.Message, func(m journal.Message) int64 { return m.Seq })
	if out.Before == 0 && len(list) > 0 { // it may have ended for its size
		earlier, err := s.options.Log.Chat(ctx, ref, journal.Page{Limit: 1, Before: list[0].Seq})
		if err != nil {
			return nil, err
		}
		if len(earlier) > 0 {
			out.Before = list[0].Seq
		}
	}
	return &messagesOutput{Body: out}, s.states(ctx, ref, out.Items, nil)
}
