package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Local is the doorkeeper of an installation on one machine: everything belongs to whoever has the
// token, or comes in where only the same user can.
type Local struct {
	Tenant string
	User   string
	Token  string
}

// Identify implements Doorkeeper.
func (l Local) Identify(r *http.Request) (Caller, error) {
	peer, _ := r.Context().Value(peerKey{}).(bool)
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	given, right := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(l.Token))
	if !peer && (!ok || l.Token == "" || subtle.ConstantTimeCompare(given[:], right[:]) != 1) {
		return Caller{}, Unauthorised()
	}
	return Caller{
		Tenant: l.Tenant, User: l.User, Name: l.User, Role: RoleOwner, Scopes: []Scope{ScopeRead, ScopeWrite, ScopeAdmin},
		Credential: "local",
	}, nil
}

type peerKey struct{}

// WithPeer says of a connection that the operating system vouches for who is at its other end: the
// user that this server runs as.
func WithPeer(ctx context.Context) context.Context { return context.WithValue(ctx, peerKey{}, true) }
