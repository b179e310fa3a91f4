package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

type quotasOutput struct{ Body wire.Quotas }

func (s *Server) quotaRoutes() {
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "getQuotas", Method: http.MethodGet, Path: "/v1/quotas",
		Summary: "How much the tenant may use, and has used", Tags: []string{"usage"},
		Description: "The sums have private conversations in them.",
	}, s.quotas)
}

func (s *Server) quotas(ctx context.Context, _ *struct{}) (*quotasOutput, error) {
	tenant, now := admission.CallerOf(ctx).Tenant, time.Now().UTC()
	month := wire.MonthQuota{
		Name: journal.MonthOf(now), Ends: time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC),
	}
	if s.options.Budget != nil {
		month.Budget = s.options.Budget(tenant)
	}
	var err error
	if month.Spent, err = s.options.Log.Spent(ctx, tenant, month.Name); err != nil {
		return nil, err
	}
	var storage wire.StorageQuota
	if s.options.Storage != nil {
		storage.Most = s.options.Storage(tenant)
	}
	if storage.Used, err = s.stored(ctx, tenant); err != nil {
		return nil, err
	}
	l := s.options.Limits
	return &quotasOutput{Body: wire.Quotas{Month: month, Storage: storage, AtOnce: wire.AtOnceQuota{
		Agents: s.options.TenantSlots, Searches: l.TenantSearches, Imports: l.TenantUploads, Streams: l.TenantStreams,
	}}}, nil
}
