package people

import (
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Role is a person's role in a tenant. Each includes the rights of those before it.
type Role string

// The roles.
const (
	RoleViewer Role = "viewer"
	RoleMember Role = "member"
	RoleOwner  Role = "owner"
)

// Rank orders the roles; an unknown role ranks below all.
func (r Role) Rank() int {
	switch r {
	case RoleViewer:
		return 1
	case RoleMember:
		return 2
	case RoleOwner:
		return 3
	}
	return 0
}

// Scope is a permitted use of a credential.
type Scope string

// The scopes. ScopeWrite is for commands to conversations and nothing else.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	ScopeAdmin Scope = "admin"
)

// AllScopes are those of a person who logged in. The role limits them.
func AllScopes() []Scope { return []Scope{ScopeRead, ScopeWrite, ScopeAdmin} }

// Scopes are those that a role can give to a key.
func (r Role) Scopes() []Scope { return AllScopes()[:r.Rank()] }

// CheckScopes refuses a key that could do more than its owner's role.
func CheckScopes(r Role, scopes []Scope) error {
	if len(scopes) == 0 {
		return &chat.Error{Code: chat.CodeInvalid, Message: "a key needs a scope: read, write or admin"}
	}
	for _, s := range scopes {
		if !slices.Contains(r.Scopes(), s) {
			return &chat.Error{Code: chat.CodeDenied, Message: "a " + string(r) + " cannot give a key the scope " + string(s)}
		}
	}
	return nil
}
