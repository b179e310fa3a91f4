package admission

import (
	"context"
	"net/http"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
)

// Caller is who a request comes from.
type Caller struct {
	Tenant string
	// User is the person's id, and Name what others are shown.
	User string
	Name string
	Role people.Role
	// Scopes are those of the credential. A person who logged in has all of them.
	Scopes []people.Scope
	// Credential names what the caller showed, without being of use to anybody: it is what is counted
	// and audited.
	Credential string
	// From is the address that the request came from, and Route the way in that it took.
	From, Route string
	// Until is when the credential ends; zero if it does not.
	Until time.Time
	// Deleting means that the tenant is being deleted.
	Deleting bool
	// Cookie means that a browser sent the credential by itself, so that another page may have caused
	// the request.
	Cookie bool
}

// Authenticator finds out who a request comes from. A caller that it cannot identify is
// Unauthorised.
type Authenticator interface {
	Identify(r *http.Request) (Caller, error)
}

// Access says who may use a route. The zero value is for nobody.
type Access struct {
	// Public routes ask for no credential and show nothing of anybody's.
	Public bool
	Scope  people.Scope
	Least  people.Role
	// Closing routes are open while the tenant is being deleted; all others are not.
	Closing bool
}

// The accesses. Routes name one of them.
var (
	AccessPublic  = Access{Public: true}
	AccessRead    = Access{Scope: people.ScopeRead, Least: people.RoleViewer}
	AccessCommand = Access{Scope: people.ScopeWrite, Least: people.RoleMember}
	// AccessSelf is for what people look after themselves, such as their own keys.
	AccessSelf  = Access{Scope: people.ScopeAdmin, Least: people.RoleViewer}
	AccessAdmin = Access{Scope: people.ScopeAdmin, Least: people.RoleOwner}
	// AccessClosing is for what an owner still needs while the tenant is being deleted.
	AccessClosing = Access{Scope: people.ScopeAdmin, Least: people.RoleOwner, Closing: true}
)

// Allows reports whether a caller may use a route, and if not, what is missing.
func (a Access) Allows(c Caller) error {
	if a.Scope == "" || a.Least.Rank() == 0 {
		return &Problem{Status: http.StatusForbidden, Code: "forbidden", Detail: "nobody may use this"}
	}
	if c.Role.Rank() < a.Least.Rank() {
		return &Problem{
			Status: http.StatusForbidden, Code: "forbidden", Detail: "a " + string(c.Role) + " may not do this",
			Next: "ask an owner of the tenant to make you a " + string(a.Least),
		}
	}
	if c.Deleting && !a.Closing {
		return &Problem{
			Status: http.StatusConflict, Code: "conflict", Detail: "this tenant is being deleted",
			Next: "log in to another tenant; an owner sees how far it is with GET /v1/tenants/" + c.Tenant + "/deletion",
		}
	}
	for _, s := range c.Scopes {
		if s == a.Scope {
			return nil
		}
	}
	return &Problem{
		Status: http.StatusForbidden, Code: "forbidden", Detail: "this credential does not have the scope " + string(a.Scope),
		Next: "use a key with that scope",
	}
}

// SessionCookie is the name of the cookie that a login sets.
const SessionCookie = "__Host-rt"

type callerKey struct{}

// withCaller puts the caller where handlers find it, the journal and the audit trail.
func withCaller(ctx context.Context, c Caller) context.Context {
	return audit.With(viewing(context.WithValue(ctx, callerKey{}, c), c), ActorOf(c))
}

// CallerOf is who a request comes from. Public routes have none.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// nobody is a person who cannot be.
const nobody = "nobody"

// viewing is a context that reads for a caller.
func viewing(ctx context.Context, c Caller) context.Context {
	if c.User == "" {
		return journal.For(ctx, nobody)
	}
	return journal.For(ctx, c.User)
}

// Permit reports what a caller lacks for an access, nil if nothing.
func Permit(ctx context.Context, a Access) error { return a.Allows(CallerOf(ctx)) }
