package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
)

type memberDeletionOutput struct {
	Body struct {
		Conversations int `json:"conversations" doc:"How many private conversations of theirs are deleted with them."`
	}
}

func (s *Service) memberDeletionRoutes(t *route.Table) {
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "deleteMember", Method: http.MethodPost, Path: "/v1/members/{member}/deletion",
		Summary: "Delete a person in the tenant: their membership, sessions, keys and private conversations", Tags: []string{"people"},
		Metadata: route.As(admission.KindRelease),
		Description: "What they said in conversations that others see stays there, with their address as the author, and so does the audit " +
			"trail. If the answer is lost, ask again: what is left to do is done then.",
	}, s.deleteMember)
}

func (s *Service) deleteMember(ctx context.Context, in *memberInput) (*memberDeletionOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	tenant := admission.CallerOf(ctx).Tenant
	list, err := s.options.People.Members(ctx, tenant)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(m people.Member) bool { return m.ID == in.Member })
	if i < 0 {
		return nil, &admission.Problem{Code: "not_found", Detail: "nothing is known under this id"}
	}
	out := &memberDeletionOutput{}
	err = s.guard.Traced(ctx, audit.Record{Action: audit.ActionMemberDelete, Object: in.Member}, func() (err error) {
		out.Body.Conversations, err = s.forget(ctx, tenant, list[i])
		return err
	})
	return out, err
}

// forget deletes a member with what only they see. The first step takes away the right to begin
// something, the last one the member: a person who asks again after something went wrong finds the
// member, and goes on.
func (s *Service) forget(ctx context.Context, tenant string, m people.Member) (deleted int, err error) {
	if m.Person != "" {
		if _, err := s.options.People.ChangeRole(ctx, tenant, m.ID, people.RoleViewer); err != nil {
			return 0, err
		}
		if deleted, err = s.deletePrivate(ctx, tenant, m.Person); err != nil {
			return deleted, err
		}
	}
	if err := s.options.People.RemoveMember(ctx, tenant, m.ID); err != nil || m.Person == "" {
		return deleted, err
	}
	late, err := s.deletePrivate(ctx, tenant, m.Person) // what a request began that was under way
	return deleted + late, err
}

// deletePrivate has all private conversations of a person deleted, no matter who asks for it.
func (s *Service) deletePrivate(ctx context.Context, tenant, person string) (deleted int, err error) {
	ctx = journal.For(ctx, "")
	all, after := s.options.Now().AddDate(1000, 0, 0), ""
	for {
		page, err := s.options.Log.Untouched(ctx, tenant, all, after, journal.PageLimit)
		if err != nil || len(page) == 0 {
			return deleted, err
		}
		after = page[len(page)-1]
		lines, err := s.options.Log.Lines(ctx, tenant, page...)
		if err != nil {
			return deleted, err
		}
		var failures error
		for id, line := range lines {
			if line.PrivateTo != person {
				continue
			}
			err := s.options.Delete(ctx, journal.Ref{Tenant: tenant, Conversation: id}, "", admission.CallerOf(ctx).Name)
			if err != nil && chat.CodeOf(err) != chat.CodeNotFound {
				failures = errors.Join(failures, err)
				continue
			}
			deleted++
		}
		if failures != nil {
			return deleted, failures
		}
	}
}
