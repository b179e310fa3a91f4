package identity

import (
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/people"
)

// Options are what the service is made of.
type Options struct {
	Guard *admission.Guard
	// People are those who share an installation, and Login is how they log in; on one person's machine
	// there is neither.
	People people.Store
	Login  Login
	// Local is the authenticator where everything belongs to one person; nil where people log in.
	Local *Local
	// Guesses limits what an address costs that logs in.
	Guesses admission.LoginLimits
	// Secure means that people reach the server over TLS only.
	Secure bool
	Now    func() time.Time
}

// Service lets people and browsers in.
type Service struct {
	options Options
	guard   *admission.Guard
	// logins and returns count what an address costs that logs in: those it begins, and those it comes
	// back from that nobody began.
	logins, returns *admission.LoginLimiter
}

// New makes a service.
func New(o Options) *Service {
	return &Service{options: o, guard: o.Guard, logins: admission.NewLoginLimiter(o.Guesses), returns: admission.NewLoginLimiter(o.Guesses)}
}

// Routes adds those by which people and browsers come in and go.
func (s *Service) Routes(t *route.Table) {
	s.loginRoutes(t)
	s.browserRoutes(t)
}
