package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// APIKey is what a program shows to a hosted server, without its secret.
type APIKey struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Owner     string     `json:"owner"`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at,omitempty"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	// Secret is there once, when the key is made.
	Secret string `json:"secret,omitempty"`
}

// NewAPIKey is a key to be made: scopes are read, write and admin; zero days means 90.
type NewAPIKey struct {
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
	Days   int      `json:"days,omitempty"`
}

// Keys are yours; an owner sees those of all members.
func (c *Client) Keys(ctx context.Context) ([]APIKey, error) {
	return items[APIKey](ctx, c, nil, "keys")
}

// CreateKey makes a key for a program. It is not sent again after an answer was lost: the secret
// would be.
func (c *Client) CreateKey(ctx context.Context, k NewAPIKey) (out APIKey, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("keys"), body: k, once: true}, &out)
	return out, err
}

// RevokeKey ends a key, at once.
func (c *Client) RevokeKey(ctx context.Context, key string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: at("keys", key)}, nil)
}

// Policy is what a tenant demands of its members.
type Policy struct {
	// SecondPair means that nobody allows a call in a conversation in which they have said something themselves.
	SecondPair bool `json:"second_pair"`
	// RetentionDays is after how many days conversations that nobody touches are deleted; zero keeps them. Nil in a change
	// leaves it as it is.
	RetentionDays *int `json:"retention_days,omitempty"`
}

// Policy says what the tenant demands.
func (c *Client) Policy(ctx context.Context) (Policy, error) {
	return read[Policy](ctx, c, nil, "policy")
}

// SetPolicy changes what the tenant demands.
func (c *Client) SetPolicy(ctx context.Context, p Policy) (out Policy, err error) {
	err = c.call(ctx, request{method: http.MethodPut, path: at("policy"), body: p}, &out)
	return out, err
}

// Link makes an address that lets one browser of the server's machine in, once. A hosted server has none.
func (c *Client) Link(ctx context.Context) (string, error) {
	var out struct {
		URL string `json:"url"`
	}
	err := c.call(ctx, request{method: http.MethodPost, path: at("links"), once: true}, &out)
	return out.URL, err
}

// Member is somebody who belongs to a tenant, or was asked to.
type Member struct {
	ID       string     `json:"id"`
	Email    string     `json:"email"`
	Name     string     `json:"name,omitempty"`
	Role     string     `json:"role"`
	AddedBy  string     `json:"added_by"`
	AddedAt  time.Time  `json:"added_at"`
	JoinedAt *time.Time `json:"joined_at,omitempty"`
}

// Members are all who belong to the tenant.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	return items[Member](ctx, c, nil, "members")
}

// AddMember lets somebody in, as viewer, member or owner.
func (c *Client) AddMember(ctx context.Context, email, role string) (out Member, err error) {
	body := map[string]string{"email": email, "role": role}
	err = c.call(ctx, request{method: http.MethodPost, path: at("members"), body: body, once: true}, &out)
	return out, err
}

// ChangeRole changes what a member may do, at once.
func (c *Client) ChangeRole(ctx context.Context, member, role string) (out Member, err error) {
	body := map[string]string{"role": role}
	err = c.call(ctx, request{method: http.MethodPut, path: at("members", member, "role"), body: body}, &out)
	return out, err
}

// RemoveMember takes a member out, with their sessions and keys.
func (c *Client) RemoveMember(ctx context.Context, member string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: at("members", member)}, nil)
}

// DeleteMember deletes a person in the tenant: their membership, sessions, keys and private conversations. It returns how
// many conversations go.
func (c *Client) DeleteMember(ctx context.Context, member string) (int, error) {
	var out struct {
		Conversations int `json:"conversations"`
	}
	err := c.call(ctx, request{method: http.MethodPost, path: at("members", member, "deletion")}, &out)
	return out.Conversations, err
}

// Tenant is one of the tenants that a person belongs to.
type Tenant struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Personal bool   `json:"personal"`
	Role     string `json:"role"`
	Current  bool   `json:"current"`
	Deleting bool   `json:"deleting,omitempty"`
}

// Tenants are those that you belong to.
func (c *Client) Tenants(ctx context.Context) ([]Tenant, error) {
	return items[Tenant](ctx, c, nil, "tenants")
}

// CreateTenant makes a tenant, whose owner you are.
func (c *Client) CreateTenant(ctx context.Context, name string) (out Tenant, err error) {
	body := map[string]string{"name": name}
	err = c.call(ctx, request{method: http.MethodPost, path: at("tenants"), body: body, once: true}, &out)
	return out, err
}

// TenantDeletion is a tenant that is being deleted.
type TenantDeletion struct {
	Tenant string    `json:"tenant"`
	State  string    `json:"state"`
	By     string    `json:"by"`
	At     time.Time `json:"asked_at"`
	// More means that there are conversations that are not deleted yet.
	More bool `json:"conversations_left"`
}

// DeleteTenant deletes the tenant that the key belongs to, with everything in it and the key itself, for good. Name is the
// tenant's. Asking twice is asking once.
func (c *Client) DeleteTenant(ctx context.Context, tenant, name string) (out TenantDeletion, err error) {
	body := map[string]string{"name": name}
	err = c.call(ctx, request{method: http.MethodPost, path: at("tenants", tenant, "deletion"), body: body}, &out)
	return out, err
}

// TenantDeletion says how far the deletion of the tenant is.
func (c *Client) TenantDeletion(ctx context.Context, tenant string) (TenantDeletion, error) {
	return read[TenantDeletion](ctx, c, nil, "tenants", tenant, "deletion")
}

// AuditEntry is one entry of the tenant's audit trail.
type AuditEntry struct {
	Seq          int64     `json:"seq"`
	At           time.Time `json:"ts"`
	Action       string    `json:"action"`
	Outcome      string    `json:"outcome"`
	User         string    `json:"user,omitempty"`
	Credential   string    `json:"credential,omitempty"`
	Source       string    `json:"source,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
	Object       string    `json:"object,omitempty"`
	Digest       string    `json:"digest,omitempty"`
	Detail       string    `json:"detail,omitempty"`
	Hash         string    `json:"hash"`
}

// AuditPage is a part of a trail. After asks for what comes next; it is zero when nothing does.
type AuditPage struct {
	Items []AuditEntry `json:"items"`
	After int64        `json:"after,omitempty"`
}

// Audit is who did what, in the order of the chain, after an entry.
func (c *Client) Audit(ctx context.Context, after int64, limit int) (AuditPage, error) {
	q := url.Values{}
	number(q, "after", after)
	number(q, "limit", int64(limit))
	return read[AuditPage](ctx, c, q, "audit")
}
