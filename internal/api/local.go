package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Local is the doorkeeper of an installation on one machine: everything belongs to whoever has the
// token.
type Local struct {
	Tenant string
	User   string
	Token  string
}

// Identify implements Doorkeeper.
func (l Local) Identify(r *http.Request) (Caller, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	given, right := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(l.Token))
	if !ok || l.Token == "" || subtle.ConstantTimeCompare(given[:], right[:]) != 1 {
		return Caller{}, Unauthorised()
	}
	return Caller{
		Tenant: l.Tenant, User: l.User, Name: l.User, Role: RoleOwner, Scopes: []Scope{ScopeRead, ScopeWrite, ScopeAdmin},
		Credential: "local",
	}, nil
}

// Hosts lets in only requests that name one of a server's own hosts, so that no other name can be
// made to lead to it.
func Hosts(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !slices.Contains(names, strings.ToLower(strings.Trim(host, "[]"))) {
			http.Error(w, "this server is not called "+host, http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
