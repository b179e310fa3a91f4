package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

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

func (s *Server) memberRoutes() {
	const tag = "people"
	register(s, accessAdmin, huma.Operation{
		OperationID: "listMembers", Method: http.MethodGet, Path: "/v1/members", Summary: "Who belongs to the tenant", Tags: []string{tag},
	}, s.members)
	register(s, accessAdmin, huma.Operation{
		OperationID: "addMember", Method: http.MethodPost, Path: "/v1/members", DefaultStatus: http.StatusCreated,
		Summary: "Let somebody in, by e-mail address", Tags: []string{tag},
		Description: "They belong to the tenant from their next login on.",
	}, s.addMember)
	register(s, accessAdmin, huma.Operation{
		OperationID: "changeRole", Method: http.MethodPut, Path: "/v1/members/{member}/role",
		Summary: "Change what a member may do, at once", Tags: []string{tag},
	}, s.changeRole)
	register(s, accessAdmin, huma.Operation{
		OperationID: "removeMember", Method: http.MethodDelete, Path: "/v1/members/{member}", DefaultStatus: http.StatusNoContent,
		Summary: "Take a member out, with their sessions and keys", Tags: []string{tag}, Metadata: asKind(kindRelease),
	}, s.removeMember)
}

func (s *Server) members(ctx context.Context, _ *noInput) (*membersOutput, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	list, err := s.options.People.Members(ctx, callerOf(ctx).Tenant)
	out := &membersOutput{}
	out.Body.Items = each(list, memberOf)
	return out, err
}

func (s *Server) addMember(ctx context.Context, in *addInput) (*memberOutput, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	email, err := people.Email(in.Body.Email)
	if err != nil {
		return nil, err
	}
	caller := callerOf(ctx)
	m := people.Member{
		ID: people.NewID("m"), Email: email, Role: Role(in.Body.Role), AddedBy: caller.Name, AddedAt: s.options.Now().UTC(),
	}
	record := audit.Record{Action: audit.ActionMemberAdd, Object: m.ID, Detail: "email=" + quoted(m.Email) + " role=" + in.Body.Role}
	err = s.traced(ctx, record, func() error { return s.options.People.AddMember(ctx, caller.Tenant, m) })
	if err != nil {
		return nil, err
	}
	return &memberOutput{Body: memberOf(m)}, nil
}

func (s *Server) changeRole(ctx context.Context, in *roleInput) (*memberOutput, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	var m people.Member
	record := audit.Record{Action: audit.ActionMemberRole, Object: in.Member, Detail: "role=" + in.Body.Role}
	err := s.traced(ctx, record, func() (err error) {
		m, err = s.options.People.ChangeRole(ctx, callerOf(ctx).Tenant, in.Member, Role(in.Body.Role))
		return err
	})
	return &memberOutput{Body: memberOf(m)}, err
}

func (s *Server) removeMember(ctx context.Context, in *memberInput) (*struct{}, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	return nil, s.traced(ctx, audit.Record{Action: audit.ActionMemberRemove, Object: in.Member}, func() error {
		return s.options.People.RemoveMember(ctx, callerOf(ctx).Tenant, in.Member)
	})
}
