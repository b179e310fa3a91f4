package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

// checkRetention refuses to keep what the installation does not keep.
func (s *Server) checkRetention(days int) error {
	most := s.options.RetentionDays
	if most == 0 || days <= most {
		return nil
	}
	return &Problem{
		Status: http.StatusUnprocessableEntity, Code: "invalid",
		Detail: "this installation deletes what nobody has touched for " + strconv.Itoa(most) + " days",
		Next:   "say as many days or fewer, or 0 to leave it at that",
	}
}

func policyOf(p people.Policy) wire.Policy {
	return wire.Policy{SecondPair: p.SecondPair, RetentionDays: &p.RetentionDays}
}

type (
	policyOutput struct{ Body wire.Policy }
	policyInput  struct{ Body wire.Policy }
)

func (s *Server) policyRoutes() {
	const tag = "people"
	register(s, accessRead, huma.Operation{
		OperationID: "getPolicy", Method: http.MethodGet, Path: "/v1/policy", Summary: "What the tenant demands of its members", Tags: []string{tag},
	}, s.policy)
	register(s, accessAdmin, huma.Operation{
		OperationID: "setPolicy", Method: http.MethodPut, Path: "/v1/policy", Summary: "Change what the tenant demands of its members", Tags: []string{tag},
	}, s.setPolicy)
}

func (s *Server) policy(ctx context.Context, _ *struct{}) (*policyOutput, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	p, err := s.options.People.Policy(ctx, callerOf(ctx).Tenant)
	return &policyOutput{Body: policyOf(p)}, err
}

func (s *Server) setPolicy(ctx context.Context, in *policyInput) (*policyOutput, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	tenant := callerOf(ctx).Tenant
	p, err := s.options.People.Policy(ctx, tenant)
	if err != nil {
		return nil, err
	}
	p.SecondPair = in.Body.SecondPair
	if in.Body.RetentionDays != nil {
		p.RetentionDays = *in.Body.RetentionDays
		if err := s.checkRetention(p.RetentionDays); err != nil {
			return nil, err
		}
	}
	record := audit.Record{
		Action: audit.ActionPolicy, Detail: "second_pair=" + strconv.FormatBool(p.SecondPair) + " retention_days=" + strconv.Itoa(p.RetentionDays),
	}
	err = s.traced(ctx, record, func() error { return s.options.People.SetPolicy(ctx, tenant, p) })
	return &policyOutput{Body: policyOf(p)}, err
}

// secondPair refuses an approval by somebody who asked for it, if the tenant wants another's. A
// person who has said something in the conversation has asked.
func (s *Server) secondPair(ctx context.Context, ref journal.Ref) error {
	caller := callerOf(ctx)
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
				return &Problem{
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
