package admission

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/people"
)

// Options are what a guard is made of.
type Options struct {
	Authenticator Authenticator
	// Credentials tells when somebody may have lost what they had; nil where nobody can.
	Credentials people.Credentials
	// Guesses limits credentials that are not valid.
	Guesses LoginLimits
	// Audit is nil where nothing leaves a trace.
	Audit Audit
	// Recheck is how long a request under way goes on although its caller has lost what let it in, when
	// no notice of that comes; zero means a minute. With a notice it is a moment.
	Recheck time.Duration
	// Hosts are the names that the server goes by; a request for another is refused. None means any.
	Hosts []string
	// Origin is that of the address that people type, if it is not what requests name as their host.
	Origin string
	// Secure means that people reach the server over TLS only.
	Secure bool
	Limits Limits
	// Pressed says why nothing can be written just now and how long that may last, zero if it can; nil
	// means always.
	Pressed func(tenant string) (why string, wait time.Duration)
	// Answered and Refused are told of requests, for metrics; nil means nobody is.
	Answered func(operation string, status int, took time.Duration)
	Refused  func(Refusal)
	// Reported is told which directive of the policy a browser enforced; nil means nobody is.
	Reported func(directive string)
	Logger   *slog.Logger
	Now      func() time.Time
}

// Filled are the options with the defaults of those that say nothing.
func (o Options) Filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Recheck == 0 {
		o.Recheck = recheckEvery
	}
	return o
}

// Guard is what every request goes through.
type Guard struct {
	options Options
	gate    *gate
	limiter *LoginLimiter
	// knocks are the requests of each address.
	knocks      *allowance
	reports     *reports
	revocations revocations
	// shapes are how routes refuse that have a way of their own, by their pattern.
	shapes  map[string]func(http.ResponseWriter, *http.Request, *Problem)
	closing chan struct{}
	close   func()
}

// New makes a guard.
func New(o Options) *Guard {
	o = o.Filled()
	closing := make(chan struct{})
	d := &Guard{
		options: o, closing: closing, close: sync.OnceFunc(func() { close(closing) }),
		shapes: map[string]func(http.ResponseWriter, *http.Request, *Problem){},
		gate: &gate{
			limits: o.Limits, now: o.Now, pressed: o.Pressed, refused: o.Refused, buckets: map[string]*bucket{},
			held: map[string]int{},
		},
		limiter: NewLoginLimiter(o.Guesses), knocks: newAllowance(o.Limits.AddressRate, burstSeconds), reports: newReports(),
		revocations: revocations{held: map[*revocation]struct{}{}},
	}
	if o.Credentials != nil {
		go d.watch(o.Credentials)
	}
	return d
}

// Close ends all streams. Their readers come back, to this server or to another.
func (g *Guard) Close() { g.close() }

// Closing is closed when the streams end.
func (g *Guard) Closing() <-chan struct{} { return g.closing }

// Streams is how many streams are open.
func (g *Guard) Streams() int { return g.gate.open() }

// Commands is how many commands are under way.
func (g *Guard) Commands() int { return int(g.gate.commands.Load()) }

// Enter finds out who asks, whether they may, and whether there is room. The context is the one
// that the request is carried out in; call leave at its end.
func (g *Guard) Enter(access Access, k Kind, r *http.Request) (ctx context.Context, leave func(), err error) {
	caller, err := g.identify(access, r)
	if err == nil {
		err = typed(r)
	}
	if err != nil {
		return nil, nil, err
	}
	ctx = withCaller(r.Context(), caller)
	if access.Public {
		return ctx, func() {}, nil
	}
	if leave, err = g.gate.enter(k, caller, g.Address(r)); err != nil {
		return nil, nil, err
	}
	if k == KindCommand {
		ctx = withArrival(ctx, leave)
	}
	return ctx, leave, nil
}
