package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

func keyOf(k people.Key) wire.APIKey {
	return wire.APIKey{
		ID: k.ID, Name: k.Name, Owner: k.Email, Scopes: route.Each(k.Scopes, func(s people.Scope) string { return string(s) }),
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, UsedAt: events.Moment(k.UsedAt), RevokedAt: events.Moment(k.RevokedAt),
	}
}

type (
	keysOutput struct {
		Body struct {
			Items []wire.APIKey `json:"items" doc:"The oldest first."`
		}
	}
	newKeyOutput struct{ Body wire.MadeAPIKey }
	newKeyInput  struct{ Body wire.NewAPIKey }
	keyInput     struct {
		Key string `path:"key" minLength:"1" maxLength:"64"`
	}
)

func (s *Service) keyRoutes(t *route.Table) {
	const tag = "people"
	route.Add(t, admission.AccessSelf, huma.Operation{
		OperationID: "listKeys", Method: http.MethodGet, Path: "/v1/keys", Summary: "Your keys; an owner sees those of all members",
		Tags: []string{tag},
	}, s.keys)
	route.Add(t, admission.AccessSelf, huma.Operation{
		OperationID: "createKey", Method: http.MethodPost, Path: "/v1/keys", DefaultStatus: http.StatusCreated,
		Summary: "Make a key for a program; its secret is shown once", Tags: []string{tag},
	}, s.createKey)
	route.Add(t, admission.AccessSelf, huma.Operation{
		OperationID: "revokeKey", Method: http.MethodDelete, Path: "/v1/keys/{key}", DefaultStatus: http.StatusNoContent,
		Summary: "Revoke a key, at once", Tags: []string{tag}, Metadata: route.As(admission.KindRelease),
	}, s.revokeKey)
}

// whose restricts a caller to their own keys, unless they are in charge.
func whose(c admission.Caller) string {
	if c.Role == people.RoleOwner {
		return ""
	}
	return c.User
}

func (s *Service) keys(ctx context.Context, _ *struct{}) (*keysOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	c := admission.CallerOf(ctx)
	list, err := s.options.People.Keys(ctx, c.Tenant, whose(c))
	out := &keysOutput{}
	out.Body.Items = route.Each(list, keyOf)
	return out, err
}

func (s *Service) createKey(ctx context.Context, in *newKeyInput) (*newKeyOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	c := admission.CallerOf(ctx)
	scopes := route.Each(in.Body.Scopes, func(text string) people.Scope { return people.Scope(text) })
	slices.Sort(scopes)
	scopes = slices.Compact(scopes)
	if err := people.CheckScopes(c.Role, scopes); err != nil {
		return nil, err
	}
	for _, scope := range scopes {
		if !slices.Contains(c.Scopes, scope) {
			return nil, &admission.Problem{Code: "forbidden", Detail: "this credential cannot give a key the scope " + string(scope)}
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
	err := s.guard.Traced(ctx, record, func() error { return s.options.People.MakeKey(ctx, secret, k) })
	if err != nil {
		return nil, err
	}
	return &newKeyOutput{Body: wire.MadeAPIKey{APIKey: keyOf(k), Secret: secret.Text}}, nil
}

func (s *Service) revokeKey(ctx context.Context, in *keyInput) (*struct{}, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	c := admission.CallerOf(ctx)
	return nil, s.guard.Traced(ctx, audit.Record{Action: audit.ActionKeyRevoke, Object: in.Key}, func() error {
		return s.options.People.RevokeKey(ctx, c.Tenant, whose(c), in.Key, s.options.Now())
	})
}
