package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/people"
)

// Key is what a program shows, without the secret.
type Key struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Owner     string     `json:"owner" doc:"Whose it is. It can do no more than they can."`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at,omitempty" doc:"When it was used last, to the minute."`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// NewKey is a key that was just made, with its secret.
type NewKey struct {
	Key
	Secret string `json:"secret" doc:"Keep it: it is never shown again."`
}

func keyOf(k people.Key) Key {
	return Key{
		ID: k.ID, Name: k.Name, Owner: k.Email, Scopes: each(k.Scopes, func(s Scope) string { return string(s) }),
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, UsedAt: moment(k.UsedAt), RevokedAt: moment(k.RevokedAt),
	}
}

type (
	keysOutput struct {
		Body struct {
			Items []Key `json:"items" doc:"The oldest first."`
		}
	}
	newKeyOutput struct{ Body NewKey }
	newKeyInput  struct {
		Body struct {
			Name   string   `json:"name" minLength:"1" maxLength:"100" doc:"What it is for."`
			Scopes []string `json:"scopes" minItems:"1" maxItems:"3" enum:"read,write,admin" doc:"write is for commands to conversations and nothing else."`
			Days   int      `json:"days,omitempty" minimum:"1" maximum:"366" doc:"How long it lasts; 90 when nothing is said."`
		}
	}
	keyInput struct {
		Key string `path:"key" minLength:"1" maxLength:"64"`
	}
)

func (s *Server) keyRoutes() {
	const tag = "people"
	register(s, accessSelf, huma.Operation{
		OperationID: "listKeys", Method: http.MethodGet, Path: "/v1/keys", Summary: "Your keys; an owner sees those of all members",
		Tags: []string{tag},
	}, s.keys)
	register(s, accessSelf, huma.Operation{
		OperationID: "createKey", Method: http.MethodPost, Path: "/v1/keys", DefaultStatus: http.StatusCreated,
		Summary: "Make a key for a program; its secret is shown once", Tags: []string{tag},
	}, s.createKey)
	register(s, accessSelf, huma.Operation{
		OperationID: "revokeKey", Method: http.MethodDelete, Path: "/v1/keys/{key}", DefaultStatus: http.StatusNoContent,
		Summary: "Revoke a key, at once", Tags: []string{tag}, Metadata: asKind(kindRelease),
	}, s.revokeKey)
}

// whose restricts a caller to their own keys, unless they are in charge.
func whose(c Caller) string {
	if c.Role == RoleOwner {
		return ""
	}
	return c.User
}

func (s *Server) keys(ctx context.Context, _ *noInput) (*keysOutput, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	c := callerOf(ctx)
	list, err := s.options.People.Keys(ctx, c.Tenant, whose(c))
	out := &keysOutput{}
	out.Body.Items = each(list, keyOf)
	return out, err
}

func (s *Server) createKey(ctx context.Context, in *newKeyInput) (*newKeyOutput, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	c := callerOf(ctx)
	scopes := each(in.Body.Scopes, func(text string) Scope { return Scope(text) })
	slices.Sort(scopes)
	scopes = slices.Compact(scopes)
	if err := people.CheckScopes(c.Role, scopes); err != nil {
		return nil, err
	}
	for _, scope := range scopes {
		if !slices.Contains(c.Scopes, scope) {
			return nil, &Problem{Code: "forbidden", Detail: "this credential cannot give a key the scope " + string(scope)}
		}
	}
	now, life := s.options.Now().UTC(), people.KeyLife
	if in.Body.Days > 0 {
		life = time.Duration(in.Body.Days) * 24 * time.Hour
	}
	k := people.Key{
		ID: people.NewID("k"), Person: c.User, Email: c.Name, Name: in.Body.Name, Scopes: scopes, CreatedAt: now, ExpiresAt: now.Add(life),
	}
	secret := people.NewCredential(people.KindKey, c.Tenant)
	record := audit.Record{
		Action: audit.ActionKeyCreate, Object: k.ID,
		Detail: fmt.Sprintf("name=%q scopes=%s until=%s", k.Name, strings.Join(in.Body.Scopes, ","), k.ExpiresAt.Format(time.RFC3339)),
	}
	err := s.traced(ctx, record, func() error { return s.options.People.MakeKey(ctx, secret, k) })
	if err != nil {
		return nil, err
	}
	return &newKeyOutput{Body: NewKey{Key: keyOf(k), Secret: secret.Text}}, nil
}

func (s *Server) revokeKey(ctx context.Context, in *keyInput) (*struct{}, error) {
	if s.options.People == nil {
		return nil, noPeople()
	}
	c := callerOf(ctx)
	return nil, s.traced(ctx, audit.Record{Action: audit.ActionKeyRevoke, Object: in.Key}, func() error {
		return s.options.People.RevokeKey(ctx, c.Tenant, whose(c), in.Key, s.options.Now())
	})
}
