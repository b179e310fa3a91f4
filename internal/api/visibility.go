package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

func (s *Server) visibilityRoutes() {
	route.Add(s.table, admission.AccessCommand, huma.Operation{
		OperationID: "shareConversation", Method: http.MethodPost, Path: "/v1/conversations/{conversation}/share",
		DefaultStatus: http.StatusAccepted, Summary: "Let everybody in the tenant see a private conversation", Tags: []string{"commands"},
		Description: "What others have seen cannot be taken back: a conversation that is shared stays so.",
	}, s.share)
}

func (s *Server) share(ctx context.Context, in *endInput) (*acceptedOutput, error) {
	caller, ref := admission.CallerOf(ctx), in.Place(ctx)
	if err := s.exists(ctx, ref, journal.Opened{}.Key()); err != nil {
		return nil, err
	}
	if err := s.options.Commands.Share(ctx, ref, caller.Name); err != nil {
		return nil, err
	}
	return &acceptedOutput{Body: wire.Accepted{ID: "e" + in.ID(caller, ref.Conversation)}}, nil
}

// owner is whom a new conversation is private to, empty if it is not to be private. Where a second
// pair of eyes is wanted it cannot be: nobody else would see what waits for them.
func (s *Server) owner(ctx context.Context, v wire.Visibility) (string, error) {
	caller := admission.CallerOf(ctx)
	if v != wire.VisiblePrivate {
		return "", nil
	}
	if s.options.People == nil {
		return caller.User, nil
	}
	policy, err := s.options.People.Policy(ctx, caller.Tenant)
	if err == nil && policy.SecondPair {
		err = &admission.Problem{
			Status: http.StatusConflict, Code: "conflict",
			Detail: "this tenant wants a second pair of eyes, and nobody else would see what a private conversation asks",
			Next:   "begin one that the tenant can see",
		}
	}
	return caller.User, err
}
