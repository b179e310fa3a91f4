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
	Month   MonthQuota   `json:"month"`
	Storage StorageQuota `json:"storage"`
	AtOnce  AtOnceQuota  `json:"at_once"`
}

// StorageQuota is how much the conversations of a tenant may hold.
type StorageQuota struct {
	Most int64 `json:"most_bytes,omitempty" doc:"What its conversations may hold; absent if any amount. A tenant that holds more can answer, decide and delete, but begin, say and import nothing."`
	Used int64 `json:"used_bytes" doc:"What its conversations hold: rows, texts and images, private ones with them."`
}

// AtOnceQuota is how much a tenant may do at the same time. An absent field means no bound.
type AtOnceQuota struct {
	Agents   int `json:"agents,omitempty" doc:"Agents that work at the same time on one worker. More wait for their turn."`
	Searches int `json:"searches,omitempty" doc:"Searches at one server. More are refused."`
	Imports  int `json:"imports,omitempty" doc:"Imports that arrive at one server. More are refused."`
	Streams  int `json:"streams,omitempty" doc:"Streams of events that are open at one server. More are refused."`
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
		Description: "The sums have private conversations in them.",
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
	if month.Spent, err = s.options.Log.Spent(ctx, tenant, month.Name); err != nil {
		return nil, err
	}
	var storage StorageQuota
	if s.options.Storage != nil {
		storage.Most = s.options.Storage(tenant)
	}
	if storage.Used, err = s.stored(ctx, tenant); err != nil {
		return nil, err
	}
	l := s.options.Limits
	return &quotasOutput{Body: Quotas{Month: month, Storage: storage, AtOnce: AtOnceQuota{
		Agents: s.options.TenantSlots, Searches: l.TenantSearches, Imports: l.TenantUploads, Streams: l.TenantStreams,
	}}}, nil
}
