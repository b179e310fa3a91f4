package admin

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

func memberOf(m people.Member) wire.Member {
	return wire.Member{
		ID: m.ID, Email: m.Email, Name: m.Name, Role: string(m.Role), AddedBy: m.AddedBy, AddedAt: m.AddedAt,
		JoinedAt: events.Moment(m.JoinedAt),
	}
}

// InMember names a member of the tenant.
type InMember struct {
	Member string `path:"member" minLength:"1" maxLength:"64"`
}

type (
	membersOutput struct {
		Body struct {
			Items []wire.Member `json:"items" doc:"In the order in which they were added."`
		}
	}
	memberOutput struct{ Body wire.Member }
	addInput     struct {
		Body struct {
			Email string `json:"email" minLength:"3" maxLength:"254"`
			Role  string `json:"role" enum:"viewer,member,owner"`
		}
	}
	memberInput struct{ InMember }
	roleInput   struct {
		InMember
		Body struct {
			Role string `json:"role" enum:"viewer,member,owner"`
		}
	}
)

func (s *Service) memberRoutes(t *route.Table) {
	const tag = "people"
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "listMembers", Method: http.MethodGet, Path: "/v1/members", Summary: "Who belongs to the tenant", Tags: []string{tag},
	}, s.members)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "addMember", Method: http.MethodPost, Path: "/v1/members", DefaultStatus: http.StatusCreated,
		Summary: "Let somebody in, by e-mail address", Tags: []string{tag},
		Description: "They belong to the tenant from their next login on.",
	}, s.addMember)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "changeRole", Method: http.MethodPut, Path: "/v1/members/{member}/role",
		Summary: "Change what a member may do, at once", Tags: []string{tag},
	}, s.changeRole)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "removeMember", Method: http.MethodDelete, Path: "/v1/members/{member}", DefaultStatus: http.StatusNoContent,
		Summary: "Take a member out, with their sessions and keys", Tags: []string{tag}, Metadata: route.As(admission.KindRelease),
	}, s.removeMember)
}

func (s *Service) members(ctx context.Context, _ *struct{}) (*membersOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	list, err := s.options.People.Members(ctx, admission.CallerOf(ctx).Tenant)
	out := &membersOutput{}
	out.Body.Items = route.Each(list, memberOf)
	return out, err
}

func (s *Service) addMember(ctx context.Context, in *addInput) (*memberOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	email, err := people.Email(in.Body.Email)
	if err != nil {
		return nil, err
	}
	caller := admission.CallerOf(ctx)
	m := people.Member{
		ID: people.NewID("m"), Email: email, Role: people.Role(in.Body.Role), AddedBy: caller.Name, AddedAt: s.options.Now().UTC(),
	}
	record := audit.Record{Action: audit.ActionMemberAdd, Object: m.ID, Detail: "email=" + strconv.Quote(m.Email) + " role=" + in.Body.Role}
	err = s.guard.Traced(ctx, record, func() error { return s.options.People.AddMember(ctx, caller.Tenant, m) })
	if err != nil {
		return nil, err
	}
	return &memberOutput{Body: memberOf(m)}, nil
}

func (s *Service) changeRole(ctx context.Context, in *roleInput) (*memberOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	var m people.Member
	record := audit.Record{Action: audit.ActionMemberRole, Object: in.Member, Detail: "role=" + in.Body.Role}
	err := s.guard.Traced(ctx, record, func() (err error) {
		m, err = s.options.People.ChangeRole(ctx, admission.CallerOf(ctx).Tenant, in.Member, people.Role(in.Body.Role))
		return err
	})
	return &memberOutput{Body: memberOf(m)}, err
}

func (s *Service) removeMember(ctx context.Context, in *memberInput) (*struct{}, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	return nil, s.guard.Traced(ctx, audit.Record{Action: audit.ActionMemberRemove, Object: in.Member}, func() error {
		return s.options.People.RemoveMember(ctx, admission.CallerOf(ctx).Tenant, in.Member)
	})
}
