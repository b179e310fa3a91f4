package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/journal"
)

// Quotas is how much the caller's tenant may use, and how much of it is used.
type Quotas struct {
	Month MonthQuota `json:"month"`
}

// MonthQuota is what a tenant may spend on models in a calendar month.
type MonthQuota struct {
	Name   string    `json:"name" doc:"The month, in UTC." example:"2026-11"`
	Ends   time.Time `json:"ends" doc:"When the next month begins."`
	Budget int64     `json:"budget_micro_usd,omitempty" doc:"What the tenant may spend in the month; absent if any amount."`
	Spent  int64     `json:"spent_micro_usd" doc:"What was spent and what is reserved for calls under way. Counted only while there is a budget."`
}

type quotasOutput struct{ Body Quotas }

func (s *Server) quotaRoutes() {
	register(s, accessRead, huma.Operation{
		OperationID: "getQuotas", Method: http.MethodGet, Path: "/v1/quotas",
		Summary: "How much the tenant may use, and has used", Tags: []string{"usage"},
		Description: "The sum of a month has the calls of private conversations in it.",
	}, s.quotas)
}

func (s *Server) quotas(ctx context.Context, _ *struct{}) (*quotasOutput, error) {
	tenant, now := callerOf(ctx).Tenant, time.Now().UTC()
	month := MonthQuota{
		Name: journal.MonthOf(now), Ends: time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC),
	}
	if s.options.Budget != nil {
		month.Budget = s.options.Budget(tenant)
	}
	var err error
	month.Spent, err = s.options.Log.Spent(ctx, tenant, month.Name)
	return &quotasOutput{Body: Quotas{Month: month}}, err
}
