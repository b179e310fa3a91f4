package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/people"
)

// Local is the authenticator of an installation on one machine: everything belongs to the person
// who has the token, comes in where only the same user can, or sits at a browser that entered by a
// link.
type Local struct {
	Tenant string
	User   string
	Token  string
	// Browsers is nil where there are none.
	Browsers *Browsers
}

// Identify implements admission.Authenticator.
func (l Local) Identify(r *http.Request) (admission.Caller, error) {
	caller := l.caller()
	if peer, _ := r.Context().Value(peerKey{}).(bool); peer {
		return caller, nil
	}
	if header := r.Header.Get("Authorization"); header != "" {
		token, ok := strings.CutPrefix(header, "Bearer ")
		given, right := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(l.Token))
		if !ok || l.Token == "" || subtle.ConstantTimeCompare(given[:], right[:]) != 1 {
			return admission.Caller{}, admission.Unauthorised()
		}
		return caller, nil
	}
	if !l.Browsers.knows(r) {
		return admission.Caller{}, admission.Unauthorised()
	}
	caller.Cookie = true
	return caller, nil
}

func (l Local) caller() admission.Caller {
	return admission.Caller{
		Tenant: l.Tenant, User: l.User, Name: l.User, Role: people.RoleOwner, Scopes: []people.Scope{people.ScopeRead, people.ScopeWrite, people.ScopeAdmin},
		Credential: "local",
	}
}

type peerKey struct{}

// WithPeer says of a connection that the operating system vouches for who is at its other end: the
// user that this server runs as.
func WithPeer(ctx context.Context) context.Context { return context.WithValue(ctx, peerKey{}, true) }
