package api

import (
	"context"
	"net/http"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/journal"
)

// secondPair refuses an approval by somebody who asked for it, if the tenant wants another's. A
// person who has said something in the conversation has asked.
func (s *Server) secondPair(ctx context.Context, ref journal.Ref) error {
	caller := admission.CallerOf(ctx)
	if s.options.People == nil {
		return nil
	}
	policy, err := s.options.People.Policy(ctx, caller.Tenant)
	if err != nil || !policy.SecondPair {
		return err
	}
	page := journal.Page{Limit: journal.PageMaxLimit, Bytes: askedBytes}
	for {
		said, err := s.options.Log.Chat(ctx, ref, page)
		if err != nil || len(said) == 0 {
			return err
		}
		for _, m := range said {
			if m.By == caller.Name {
				return &admission.Problem{
					Status: http.StatusForbidden, Code: "forbidden",
					Detail: "this tenant wants a second pair of eyes, and you have asked for something in this conversation yourself",
					Next:   "have another member allow it, after you share the conversation if it is private; you can deny it",
				}
			}
		}
		page.Before = said[0].Seq
	}
}

// askedBytes is how much of a chat is read at a time to see who has asked.
const askedBytes = 1 << 20
