package people

import (
	"context"
	"time"
)

// How long things last.
const (
	// SessionIdle is how long a session lasts that nobody uses, and SessionLife how long any does.
	SessionIdle = 12 * time.Hour
	SessionLife = 7 * 24 * time.Hour
	// LoginLife is how long a person may take to log in.
	LoginLife = 10 * time.Minute
	// KeyLife is how long a key lasts when nothing is said, and KeyMost the longest that it can.
	KeyLife = 90 * 24 * time.Hour
	KeyMost = 366 * 24 * time.Hour
)

// Holder is whom a credential belongs to, as things are now.
type Holder struct {
	Tenant string
	Person string
	Email  string
	Role   Role
	// Scopes are a key's; a session has all.
	Scopes []Scope
	// ID is the key's; a session has none.
	ID string
	// Until is when the credential ends at the latest.
	Until time.Time
	// Deleting means that the tenant is being deleted.
	Deleting bool
}

// Credentials finds the owner of a credential. One that is unknown, expired or revoked, or whose
// holder is no member any more, is not_found. Nothing is cached between two requests: a change
// counts for the next one.
type Credentials interface {
	Session(ctx context.Context, c Credential, at time.Time) (Holder, error)
	Key(ctx context.Context, c Credential, at time.Time) (Holder, error)
	// Changes grows whenever somebody may have lost access.
	Changes(ctx context.Context) (int64, error)
}

// Login is a login under way, found by the hash of its state.
type Login struct {
	State    []byte
	Nonce    string
	Verifier string
	// Next is where the person wanted to go.
	Next  string
	Until time.Time
}

// Session is a login that was carried out.
type Session struct {
	Credential Credential
	Person     string
	At         time.Time
	Until      time.Time
}

// Invitation is a place among the members of a tenant that waits for the owner of its address.
type Invitation struct{ Tenant, Member string }

// Taking is told of an invitation before it is taken up, and takes it up with take.
type Taking func(i Invitation, take func() error) error

// Logins signs people in.
type Logins interface {
	BeginLogin(ctx context.Context, l Login) error
	// TakeLogin returns a login that was begun, once.
	TakeLogin(ctx context.Context, state []byte, at time.Time) (Login, error)
	// Arrive notes that a person has logged in: it makes their own tenant, takes up invitations, and
	// returns all their tenants, their own last. Each invitation is taken up by the person who is asked
	// to.
	Arrive(ctx context.Context, p Person, at time.Time, taking Taking) ([]Tenant, error)
	StartSession(ctx context.Context, s Session) error
	// EndSession ends a session; one that is unknown has ended.
	EndSession(ctx context.Context, c Credential) error
}

// Tenant is one of a person's tenants.
type Tenant struct {
	ID       string
	Name     string
	Personal bool
	// Role is the person's role there.
	Role Role
	// Deleting means that it is being deleted.
	Deleting bool
}

// Policy holds a tenant's demands on its members.
type Policy struct {
	// SecondPair means that nobody allows a call in a conversation in which they have said something
	// themselves.
	SecondPair bool
	// RetentionDays is after how many days conversations that nobody touches are deleted; zero keeps
	// them.
	RetentionDays int
}

// Tenants are made and listed by their members.
type Tenants interface {
	Policy(ctx context.Context, tenant string) (Policy, error)
	SetPolicy(ctx context.Context, tenant string, p Policy) error
	// TenantsOf lists a person's tenants, their own last.
	TenantsOf(ctx context.Context, person string) ([]Tenant, error)
	// MakeTenant makes one whose owner is a member of another.
	MakeTenant(ctx context.Context, id, name string, by Holder, at time.Time) error
}

// Member is a person who belongs to a tenant, or is invited.
type Member struct {
	ID    string
	Email string
	Name  string
	Role  Role
	// Person is empty until the one with this address has logged in.
	Person   string
	AddedBy  string
	AddedAt  time.Time
	JoinedAt time.Time
}

// Members are the people of a tenant. There is always an owner who has logged in.
type Members interface {
	Members(ctx context.Context, tenant string) ([]Member, error)
	AddMember(ctx context.Context, tenant string, m Member) error
	ChangeRole(ctx context.Context, tenant, member string, role Role) (Member, error)
	RemoveMember(ctx context.Context, tenant, member string) error
}

// Key is a program's credential.
type Key struct {
	ID     string
	Person string
	// Email is whose it is.
	Email     string
	Name      string
	Scopes    []Scope
	CreatedAt time.Time
	ExpiresAt time.Time
	// UsedAt is when it was used last, to the minute, and RevokedAt when it was revoked; zero if never.
	UsedAt    time.Time
	RevokedAt time.Time
}

// Keys are the keys of a tenant. A person restricts it to theirs, an empty one does not.
type Keys interface {
	Keys(ctx context.Context, tenant, person string) ([]Key, error)
	MakeKey(ctx context.Context, c Credential, k Key) error
	RevokeKey(ctx context.Context, tenant, person, id string, at time.Time) error
}

// Workspace is a folder that agents of a tenant work in.
type Workspace struct {
	Name string
	// ServedAt is when a worker that has it was started last.
	ServedAt time.Time
}

// Workspaces are the workspaces of a tenant. Workers say which they have.
type Workspaces interface {
	Workspaces(ctx context.Context, tenant string) ([]Workspace, error)
	ServeWorkspace(ctx context.Context, tenant, name string, at time.Time) error
}

// Deletion is a tenant that is being deleted: the person who asked for it, the source of the
// request, and the time.
type Deletion struct {
	Tenant     string
	By, Source string
	At         time.Time
}

// Deletions are the tenants that are being deleted. Such a tenant begins nothing new.
type Deletions interface {
	// NameOf is the name of a tenant. A person who deletes the tenant has to type it.
	NameOf(ctx context.Context, tenant string) (string, error)
	// BeginDeletion closes a tenant for good. Doing so twice is the same as once: the first deletion is
	// returned.
	BeginDeletion(ctx context.Context, d Deletion) (Deletion, error)
	// Deletion is that of a tenant; not_found if it is not being deleted.
	Deletion(ctx context.Context, tenant string) (Deletion, error)
	// Deletions lists those of all tenants, the oldest first.
	Deletions(ctx context.Context) ([]Deletion, error)
	// EndDeletion removes all that is kept of a tenant's people, and the deletion. Ending it again is
	// no error.
	EndDeletion(ctx context.Context, tenant string) error
}

// Store keeps all of it.
type Store interface {
	Credentials
	Logins
	Tenants
	Members
	Keys
	Workspaces
	Deletions
}
