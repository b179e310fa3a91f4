package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/retinue-dev/retinue/wire"
)

// Keys are yours; an owner sees those of all members.
func (c *Client) Keys(ctx context.Context) ([]wire.APIKey, error) {
	return items[wire.APIKey](ctx, c, nil, "keys")
}

// CreateKey makes a key for a program. It is not sent again after an answer was lost: the secret
// would be.
func (c *Client) CreateKey(ctx context.Context, k wire.NewAPIKey) (out wire.APIKey, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("keys"), body: k, once: true}, &out)
	return out, err
}

// RevokeKey ends a key, at once.
func (c *Client) RevokeKey(ctx context.Context, key string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: at("keys", key)}, nil)
}

// Policy returns the tenant's policy.
func (c *Client) Policy(ctx context.Context) (wire.Policy, error) {
	return read[wire.Policy](ctx, c, nil, "policy")
}

// SetPolicy changes the tenant's policy.
func (c *Client) SetPolicy(ctx context.Context, p wire.Policy) (out wire.Policy, err error) {
	err = c.call(ctx, request{method: http.MethodPut, path: at("policy"), body: p}, &out)
	return out, err
}

// Link makes an address that lets one browser of the server's machine in, once. A hosted server has
// none.
func (c *Client) Link(ctx context.Context) (string, error) {
	var out struct {
		URL string `json:"url"`
	}
	err := c.call(ctx, request{method: http.MethodPost, path: at("links"), once: true}, &out)
	return out.URL, err
}

// Members are all who belong to the tenant.
func (c *Client) Members(ctx context.Context) ([]wire.Member, error) {
	return items[wire.Member](ctx, c, nil, "members")
}

// AddMember adds somebody as viewer, member or owner.
func (c *Client) AddMember(ctx context.Context, email, role string) (out wire.Member, err error) {
	body := map[string]string{"email": email, "role": role}
	err = c.call(ctx, request{method: http.MethodPost, path: at("members"), body: body, once: true}, &out)
	return out, err
}

// ChangeRole changes a member's role, at once.
func (c *Client) ChangeRole(ctx context.Context, member, role string) (out wire.Member, err error) {
	body := map[string]string{"role": role}
	err = c.call(ctx, request{method: http.MethodPut, path: at("members", member, "role"), body: body}, &out)
	return out, err
}

// RemoveMember takes a member out, with their sessions and keys.
func (c *Client) RemoveMember(ctx context.Context, member string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: at("members", member)}, nil)
}

// DeleteMember deletes a person in the tenant: their membership, sessions, keys and private
// conversations. It returns how many conversations go.
func (c *Client) DeleteMember(ctx context.Context, member string) (int, error) {
	var out struct {
		Conversations int `json:"conversations"`
	}
	err := c.call(ctx, request{method: http.MethodPost, path: at("members", member, "deletion")}, &out)
	return out.Conversations, err
}

// Tenants are those that you belong to.
func (c *Client) Tenants(ctx context.Context) ([]wire.Tenant, error) {
	return items[wire.Tenant](ctx, c, nil, "tenants")
}

// CreateTenant makes a tenant, whose owner you are.
func (c *Client) CreateTenant(ctx context.Context, name string) (out wire.Tenant, err error) {
	body := map[string]string{"name": name}
	err = c.call(ctx, request{method: http.MethodPost, path: at("tenants"), body: body, once: true}, &out)
	return out, err
}

// DeleteTenant deletes the tenant that the key belongs to, with everything in it and the key
// itself, for good. Name is the tenant's. Asking twice is asking once.
func (c *Client) DeleteTenant(ctx context.Context, tenant, name string) (out wire.TenantDeletion, err error) {
	body := map[string]string{"name": name}
	err = c.call(ctx, request{method: http.MethodPost, path: at("tenants", tenant, "deletion"), body: body}, &out)
	return out, err
}

// TenantDeletion says how far the deletion of the tenant is.
func (c *Client) TenantDeletion(ctx context.Context, tenant string) (wire.TenantDeletion, error) {
	return read[wire.TenantDeletion](ctx, c, nil, "tenants", tenant, "deletion")
}

// Audit lists the entries of the audit trail after an entry, in order.
func (c *Client) Audit(ctx context.Context, after int64, limit int) (wire.AuditPage, error) {
	q := url.Values{}
	number(q, "after", after)
	number(q, "limit", int64(limit))
	return read[wire.AuditPage](ctx, c, q, "audit")
}
