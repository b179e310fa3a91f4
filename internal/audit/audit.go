// Package audit keeps the trail. An entry names the actor, the action, the credential, the object
// and the outcome.
//
// The trail of a tenant is one chain. Its entries are numbered from 1 without a gap, and each
// carries a hash over the entry before it and over everything in itself, so that a person who
// changes, removes, adds or reorders one breaks the chain from there on. A head that is kept
// elsewhere exposes a person who cuts off the end or writes the whole chain anew. A trail outlives
// its conversations, and holds no content: ids, digests and names only.
//
// An entry is written before its action takes effect, so nothing has an effect without an entry. If
// the effect failed, a second entry says so. If the process died between the two, the journal lacks
// the row that the entry names.
//
// The package imports chat and journal. Adapters below it know SQL.
package audit

import (
	"context"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Action names an action.
type Action string

// The actions. Others are free to add their own; these are what this package writes.
const (
	ActionOpen    Action = "conversation.open"
	ActionShare   Action = "conversation.share"
	ActionArchive Action = "conversation.archive"
	ActionDelete  Action = "conversation.delete"
	ActionErase   Action = "conversation.erase"
	ActionExport  Action = "conversation.export"
	ActionImport  Action = "conversation.import"
	ActionPost    Action = "message.post"
	ActionCancel  Action = "cancel"
	ActionDecide  Action = "approval.decide"
	ActionGrant   Action = "approval.grant"
	ActionEffect  Action = "effect.begin"
	ActionReach   Action = "network.reach"
	ActionDeny    Action = "access.deny"
)

// The actions on members, tenants, credentials, sessions and webhooks.
const (
	ActionKeyCreate     Action = "key.create"
	ActionKeyRevoke     Action = "key.revoke"
	ActionMemberAdd     Action = "member.add"
	ActionMemberJoin    Action = "member.join"
	ActionMemberRole    Action = "member.role"
	ActionMemberRemove  Action = "member.remove"
	ActionMemberDelete  Action = "member.delete"
	ActionTenantCreate  Action = "tenant.create"
	ActionTenantDelete  Action = "tenant.delete"
	ActionTenantDeleted Action = "tenant.deleted"
	ActionLogin         Action = "login"
	ActionPolicy        Action = "tenant.policy"
	ActionLinkCreate    Action = "link.create"
	ActionSessionBegin  Action = "session.begin"
	ActionSessionEnd    Action = "session.end"
	ActionWebhookCreate Action = "webhook.create"
	ActionWebhookRemove Action = "webhook.remove"
	ActionWebhookReplay Action = "webhook.replay"
)

// Outcome is the result of an action.
type Outcome string

// The outcomes. Accepted is written before the effect.
const (
	Accepted Outcome = "accepted"
	Failed   Outcome = "failed"
	Denied   Outcome = "denied"
)

// Installation is the tenant of what cannot be said to be anybody's, such as a request without a
// credential.
const Installation = "_installation"

// Actor is the person or program that acts. A program that acts for nobody has a source only.
type Actor struct {
	// User is the person, Credential the name of their credential, which is no secret, and Source
	// the listener that they used.
	User, Credential, Source string
}

// Record is one thing that was done.
type Record struct {
	Action  Action
	Outcome Outcome
	// Actor is the context's when it is zero.
	Actor Actor
	// Conversation and Object name the target; Object is an id within the conversation.
	Conversation, Object string
	// Digest binds the entry to the call that was shown or decided.
	Digest string
	// Detail is a few words that hold no content.
	Detail string
	// Key makes a record that is written twice one entry; an empty one does not.
	Key string
}

// Entry is a record with its place in the chain.
type Entry struct {
	Seq int64
	// At is kept to the millisecond.
	At time.Time
	Record
	Hash [32]byte
}

// maxField is how long a text of a record may be.
const maxField = 4096

// clean makes a record storable everywhere, and completes it.
func (r Record) clean(actor Actor) (Record, error) {
	if r.Actor == (Actor{}) {
		r.Actor = actor
	}
	if r.Outcome == "" {
		r.Outcome = Accepted
	}
	if r.Action == "" {
		return r, &chat.Error{Code: chat.CodeInvalid, Message: "an audit record has no action"}
	}
	for _, field := range []*string{
		(*string)(&r.Action), (*string)(&r.Outcome), &r.Actor.User, &r.Actor.Credential, &r.Actor.Source, &r.Conversation,
		&r.Object, &r.Digest, &r.Detail, &r.Key,
	} {
		text := strings.ReplaceAll(strings.ToValidUTF8(*field, "�"), "\x00", "�")
		if len(text) > maxField {
			text = strings.ToValidUTF8(text[:maxField], "")
		}
		*field = text
	}
	return r, nil
}

type actorKey struct{}

// With puts who acts into a context.
func With(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, actorKey{}, a) }

// ActorOf is who acts.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
