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
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

// checkRetention refuses to keep what the installation does not keep.
func (s *Service) checkRetention(days int) error {
	most := s.options.RetentionDays
	if most == 0 || days <= most {
		return nil
	}
	return &admission.Problem{
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

func (s *Service) policyRoutes(t *route.Table) {
	const tag = "people"
	route.Add(t, admission.AccessRead, huma.Operation{
		OperationID: "getPolicy", Method: http.MethodGet, Path: "/v1/policy", Summary: "What the tenant demands of its members", Tags: []string{tag},
	}, s.policy)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "setPolicy", Method: http.MethodPut, Path: "/v1/policy", Summary: "Change what the tenant demands of its members", Tags: []string{tag},
	}, s.setPolicy)
}

func (s *Service) policy(ctx context.Context, _ *struct{}) (*policyOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	p, err := s.options.People.Policy(ctx, admission.CallerOf(ctx).Tenant)
	return &policyOutput{Body: policyOf(p)}, err
}

func (s *Service) setPolicy(ctx context.Context, in *policyInput) (*policyOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	tenant := admission.CallerOf(ctx).Tenant
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
	err = s.guard.Traced(ctx, record, func() error { return s.options.People.SetPolicy(ctx, tenant, p) })
	return &policyOutput{Body: policyOf(p)}, err
}
