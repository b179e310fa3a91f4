package wire

import "time"

// APIKey is a program's credential, without the secret.
type APIKey struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Owner     string     `json:"owner" doc:"Whose it is. It can do no more than they can."`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at,omitempty" doc:"When it was used last, to the minute."`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// MadeAPIKey is a key that was just made, with its secret.
type MadeAPIKey struct {
	APIKey
	Secret string `json:"secret" doc:"Keep it: it is never shown again."`
}

// NewAPIKey is a key to be made.
type NewAPIKey struct {
	Name   string   `json:"name" minLength:"1" maxLength:"100" doc:"What it is for."`
	Scopes []string `json:"scopes" minItems:"1" maxItems:"3" enum:"read,write,admin" doc:"write is for commands to conversations and nothing else."`
	Days   int      `json:"days,omitempty" minimum:"1" maximum:"366" doc:"How long it lasts; 90 when nothing is said."`
}

// Me is the caller.
type Me struct {
	Tenant string   `json:"tenant"`
	User   string   `json:"user"`
	Name   string   `json:"name"`
	Role   string   `json:"role" enum:"viewer,member,owner"`
	Scopes []string `json:"scopes"`
}

// Member is a person who belongs to a tenant, or is invited.
type Member struct {
	ID       string     `json:"id"`
	Email    string     `json:"email"`
	Name     string     `json:"name,omitempty"`
	Role     string     `json:"role" enum:"viewer,member,owner"`
	AddedBy  string     `json:"added_by"`
	AddedAt  time.Time  `json:"added_at"`
	JoinedAt *time.Time `json:"joined_at,omitempty" doc:"When they first logged in; absent if they have not."`
}

// Policy holds a tenant's demands on its members.
type Policy struct {
	SecondPair bool `json:"second_pair" doc:"Whether an approval needs a second pair of eyes: nobody who has said something in a conversation allows a call there."`
	// RetentionDays is left as it is when it is absent.
	RetentionDays *int `json:"retention_days,omitempty" minimum:"0" maximum:"36500" doc:"Conversations that nobody has touched for this many days are deleted; 0 keeps them, or as long as the installation does. Absent in a change leaves it as it is."`
}

// Tenant is one of the tenants that a person belongs to.
type Tenant struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Personal bool   `json:"personal" doc:"Whether it is your own."`
	Role     string `json:"role" enum:"viewer,member,owner" doc:"What you may do there."`
	Current  bool   `json:"current" doc:"Whether this session is in it."`
	Deleting bool   `json:"deleting,omitempty" doc:"Whether it is being deleted: nobody can go there."`
}

// TenantDeletion is a tenant that is being deleted.
type TenantDeletion struct {
	Tenant string    `json:"tenant"`
	State  string    `json:"state" enum:"deleting" doc:"When all is gone, so are the members and their keys: the next request is answered with 401."`
	By     string    `json:"by" doc:"Who asked for it: the id of a person, or who ran the command."`
	At     time.Time `json:"asked_at"`
	More   bool      `json:"conversations_left" doc:"Whether there are conversations that are not deleted yet."`
}
