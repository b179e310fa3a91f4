package journal

import (
	"encoding/json"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Tombstone is the rest of an erased conversation. It shows that the conversation existed, so that
// a client that repeats the first command does not begin another. It is found by the hash of the
// id, and holds no content.
type Tombstone struct {
	// Command is the id of the command that had it removed, empty if none is known.
	Command string
	At      time.Time
}

// Erasure is the id of the post that orders the erasure of a conversation. It is the same for every
// person.
const Erasure = "erase:"

// ErasureKey is the key of that post.
func ErasureKey() string { return MailPosted{ID: Erasure}.Key() }

// CommandOf is the command that a post names, as the post is stored; empty if there is no post.
func CommandOf(stored []string) string {
	var p MailPosted
	for _, post := range stored {
		if json.Unmarshal([]byte(post), &p) == nil && p.Command != "" {
			return p.Command
		}
	}
	return ""
}

// NotFound is the one answer for a missing conversation and for somebody else's.
func NotFound() error {
	return &chat.Error{Code: chat.CodeNotFound, Message: "there is no such conversation"}
}

// Gone refuses to begin a conversation that was erased.
func Gone() error {
	return &chat.Error{Code: chat.CodeConflict, Message: "the conversation that this command began was deleted"}
}

// OpensOnce reports whether a batch begins a conversation that, once erased, is not begun again.
func (b *Batch) OpensOnce() bool {
	for _, row := range b.Rows {
		if o, ok := row.(Opened); ok && o.Command != "" {
			return true
		}
	}
	return false
}
