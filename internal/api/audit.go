package api

import (
	"cmp"
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/wire"
)

// Audit is where what people do leaves its traces. Commands leave theirs in the journal's own
// way in, whichever door they come through; everything else is written here.
type Audit interface {
	// Write returns when the record is durable. It is called before what it speaks of takes effect.
	Write(ctx context.Context, tenant string, r audit.Record) error
	// Deny notes a refusal, as one of many, and does not wait.
	Deny(tenant string, by audit.Actor, why string)
	Read(ctx context.Context, tenant string, after int64, limit int) ([]audit.Entry, error)
}

// actorOf is a caller as the trail names them.
func actorOf(c Caller) audit.Actor {
	return audit.Actor{User: c.User, Credential: c.Credential, Source: "api"}
}

// traced puts what the caller does on the trail, does it, and says so if it came to nothing. A
// record with a key that is sent again is one entry.
func (s *Server) traced(ctx context.Context, r audit.Record, do func() error) error {
	if s.options.Audit == nil {
		return do()
	}
	return s.tracedAs(ctx, callerOf(ctx), r, do)
}

// tracedAs is traced for somebody whom the context does not name, such as a person who is about to
// log in. The trail is that of their tenant.
func (s *Server) tracedAs(ctx context.Context, caller Caller, r audit.Record, do func() error) error {
	if s.options.Audit == nil {
		return do()
	}
	r.Actor, r.Detail = actorOf(caller), words(r.Detail, "from="+caller.From)
	if err := s.options.Audit.Write(ctx, caller.Tenant, r); err != nil {
		return err
	}
	err := do()
	if err != nil {
		r.Outcome, r.Key, r.Detail = audit.Failed, "", words(r.Detail, "error="+problemOf(err).Code)
		_ = s.options.Audit.Write(context.WithoutCancel(ctx), caller.Tenant, r) // the caller hears of the first error
	}
	return err
}

// words are the parts of a detail, of which some may be empty.
func words(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == "from=" }), " ")
}

// quoted is a name that somebody chose, as one word of a detail.
func quoted(text string) string { return strconv.Quote(text) }

// remote is where a request comes from, in one word.
func (s *Server) remote(r *http.Request) string {
	if ip := s.loginLimiter.origin(r); ip.IsValid() {
		return ip.String()
	}
	return "socket"
}

// denied notes that a caller was refused. An unknown caller belongs to no tenant.
func (s *Server) denied(c Caller, r *http.Request, err error) {
	c.From, c.Route = s.remote(r), cmp.Or(r.Pattern, r.Method) // the path itself may hold anything
	s.refused(c, err)
}

// refused notes that a caller may not do what they asked for.
func (s *Server) refused(c Caller, err error) {
	if s.options.Audit != nil {
		s.options.Audit.Deny(c.Tenant, actorOf(c), problemOf(err).Code+" at "+c.Route+" from "+c.From)
	}
}

type (
	auditInput struct {
		After int64 `query:"after" minimum:"0" doc:"Gives what comes after this seq."`
		Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	}
	auditOutput struct{ Body wire.AuditPage }
)

func (s *Server) auditRoutes() {
	register(s, accessAdmin, huma.Operation{
		OperationID: "listAudit", Method: http.MethodGet, Path: "/v1/audit", Summary: "Who did what: the tenant's audit trail",
		Tags: []string{"administration"},
	}, s.auditTrail)
}

func (s *Server) auditTrail(ctx context.Context, in *auditInput) (*auditOutput, error) {
	if s.options.Audit == nil {
		return &auditOutput{Body: wire.AuditPage{Items: []wire.AuditEntry{}}}, nil
	}
	entries, err := s.options.Audit.Read(ctx, callerOf(ctx).Tenant, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	out := wire.AuditPage{Items: each(entries, auditEntryOf)}
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
