package admin

import (
	"context"
	"encoding/hex"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/wire"
)

// Trail is the audit trail, to be read.
type Trail interface {
	Read(ctx context.Context, tenant string, after int64, limit int) ([]audit.Entry, error)
}

type (
	auditInput struct {
		After int64 `query:"after" minimum:"0" doc:"Gives what comes after this seq."`
		Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	}
	auditOutput struct{ Body wire.AuditPage }
)

func (s *Service) auditRoutes(t *route.Table) {
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "listAudit", Method: http.MethodGet, Path: "/v1/audit", Summary: "Who did what: the tenant's audit trail",
		Tags: []string{"administration"},
	}, s.auditTrail)
}

func (s *Service) auditTrail(ctx context.Context, in *auditInput) (*auditOutput, error) {
	if s.options.Trail == nil {
		return &auditOutput{Body: wire.AuditPage{Items: []wire.AuditEntry{}}}, nil
	}
	entries, err := s.options.Trail.Read(ctx, admission.CallerOf(ctx).Tenant, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	out := wire.AuditPage{Items: route.Each(entries, auditEntryOf)}
	if len(entries) == in.Limit {
		out.After = entries[len(entries)-1].Seq
	}
	return &auditOutput{Body: out}, nil
}

func auditEntryOf(e audit.Entry) wire.AuditEntry {
	return wire.AuditEntry{
		Seq: e.Seq, At: e.At, Action: string(e.Action), Outcome: string(e.Outcome), User: e.Actor.User,
		Credential: e.Actor.Credential, Source: e.Actor.Source, Conversation: e.Conversation, Object: e.Object, Digest: e.Digest,
		Detail: e.Detail, Hash: hex.EncodeToString(e.Hash[:]),
	}
}
