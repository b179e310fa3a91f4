package admission

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/audit"
)

// Audit is where what people do leaves its traces. Commands leave theirs in the journal's own
// way in, whichever door they come through; everything else is written here.
type Audit interface {
	// Write returns when the record is durable. It is called before what it speaks of takes effect.
	Write(ctx context.Context, tenant string, r audit.Record) error
	// Deny notes a refusal, as one of many, and does not wait.
	Deny(tenant string, by audit.Actor, why string)
}

// ActorOf is a caller as the trail names them.
func ActorOf(c Caller) audit.Actor {
	return audit.Actor{User: c.User, Credential: c.Credential, Source: "api"}
}

// Traced puts what the caller does on the trail, does it, and says so if it came to nothing. A
// record with a key that is sent again is one entry.
func (g *Guard) Traced(ctx context.Context, r audit.Record, do func() error) error {
	if g.options.Audit == nil {
		return do()
	}
	return g.TracedAs(ctx, CallerOf(ctx), r, do)
}

// TracedAs is Traced for somebody whom the context does not name, such as a person who is about to
// log in. The trail is that of their tenant.
func (g *Guard) TracedAs(ctx context.Context, caller Caller, r audit.Record, do func() error) error {
	if g.options.Audit == nil {
		return do()
	}
	r.Actor, r.Detail = ActorOf(caller), words(r.Detail, "from="+caller.From)
	if err := g.options.Audit.Write(ctx, caller.Tenant, r); err != nil {
		return err
	}
	err := do()
	if err != nil {
		r.Outcome, r.Key, r.Detail = audit.Failed, "", words(r.Detail, "error="+ProblemOf(err).Code)
		_ = g.options.Audit.Write(context.WithoutCancel(ctx), caller.Tenant, r) // the caller hears of the first error
	}
	return err
}

// words are the parts of a detail, of which some may be empty.
func words(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == "from=" }), " ")
}

// Remote is where a request comes from, in one word.
func (g *Guard) Remote(r *http.Request) string {
	if ip := g.limiter.origin(r); ip.IsValid() {
		return ip.String()
	}
	return "socket"
}

// Address is where a request comes from, as what an address does is counted.
func (g *Guard) Address(r *http.Request) string { return g.limiter.address(r) }

// denied notes that a caller was refused. An unknown caller belongs to no tenant.
func (g *Guard) denied(c Caller, r *http.Request, err error) {
	c.From, c.Route = g.Remote(r), cmp.Or(r.Pattern, r.Method) // the path itself may hold anything
	g.refused(c, err)
}

// refused notes that a caller may not do what they asked for.
func (g *Guard) refused(c Caller, err error) {
	if g.options.Audit != nil {
		g.options.Audit.Deny(c.Tenant, ActorOf(c), ProblemOf(err).Code+" at "+c.Route+" from "+c.From)
	}
}
