package admin

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
)

// Options are what the service is made of.
type Options struct {
	Guard *admission.Guard
	// Identity gives a browser a session in another tenant.
	Identity *identity.Service
	// Log finds the conversations that go with a person or a tenant.
	Log journal.Lists
	// Delete is how a conversation is deleted.
	Delete func(ctx context.Context, ref journal.Ref, id, by string) error
	// People are those who share an installation; nil on one person's machine.
	People people.Store
	// RetentionDays is after how many days the installation deletes what nobody touches; zero means
	// never.
	RetentionDays int
	// Trail is nil where nothing leaves a trace.
	Trail Trail
	// Webhooks is nil where nobody else is told what happens.
	Webhooks Webhooks
	Now      func() time.Time
}

// Service looks after tenants.
type Service struct {
	options  Options
	guard    *admission.Guard
	identity *identity.Service
}

// New makes a service.
func New(o Options) *Service {
	if o.Webhooks == nil {
		o.Webhooks = noWebhooks{}
	}
	return &Service{options: o, guard: o.Guard, identity: o.Identity}
}

// Routes adds those by which people look after a tenant.
func (s *Service) Routes(t *route.Table) {
	s.tenantRoutes(t)
	s.tenantDeletionRoutes(t)
	s.memberDeletionRoutes(t)
	s.policyRoutes(t)
	s.memberRoutes(t)
	s.keyRoutes(t)
	s.auditRoutes(t)
	s.webhookRoutes(t)
}
