package route

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"net/http"
	"strings"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Keyed is a command that is the same one however often it is sent.
type Keyed struct {
	Key string `header:"Idempotency-Key" required:"true" minLength:"8" maxLength:"200" doc:"Made by the client, once per command. The same key is the same command: send it again after any error."`
}

// ID is the id that a command makes, out of its key and whose it is.
func (k Keyed) ID(c admission.Caller, what string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Tenant, c.User, what, k.Key}, "\x00")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]))
}

// KeyReused is the answer to a key under which something else was asked for before.
func KeyReused() error {
	return &admission.Problem{
		Status: http.StatusConflict, Code: "conflict", Detail: "this Idempotency-Key was used for something else",
		Next: "make a new key for a new command",
	}
}

// InConversation names a conversation.
type InConversation struct {
	Conversation string `path:"conversation" minLength:"1" maxLength:"128"`
}

// Place is where the conversation is, for this caller. Nothing is looked for anywhere else.
func (p InConversation) Place(ctx context.Context) journal.Ref {
	return journal.Ref{Tenant: admission.CallerOf(ctx).Tenant, Conversation: p.Conversation}
}
