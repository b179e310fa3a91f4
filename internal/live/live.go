// Package live carries deltas of replies that are still being made, and notices that new rows can
// be read, to readers. It imports chat; the in-process bus lives here, the bus on NATS in an
// adapter below.
//
// Everything here may be lost, by design. A publisher is never held up and never told of a failure;
// a reader may miss anything, and the journal has all that counts. The promises:
//
//   - The notices of one publisher reach a reader in the order they were published.
//   - A reader sees its own conversation of its own tenant, whatever the ids are made of. A reader
//     of a whole tenant sees the announcements of its conversations, and no deltas.
//   - A reader that is too slow is cut off with ErrSlow. Nobody else notices.
//   - A reader that may have missed something is told, by Resync or by ErrSlow, whenever the bus
//     itself can know. A full queue on the publisher's side is the one loss it cannot: there a
//     Delta's offset shows the gap.
package live

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Bus takes notices from publishers to the readers of a conversation.
type Bus interface {
	// Publish sends a delta on its way. It never blocks.
	Publish(Delta)
	// Announce tells the readers of a conversation how far its rows go. It never blocks.
	Announce(Appended)
	// Subscribe starts reading a conversation. Notices published after it returned are delivered;
	// earlier ones are not.
	Subscribe(context.Context, Topic) (*Reader, error)
	// Counts says what became of the notices so far.
	Counts() Counts
	// Close ends all readers with ErrClosed and releases everything.
	Close()
}

// Topic is the subject of a subscription: one conversation of one tenant, or without a conversation
// the announcements of all conversations of the tenant.
type Topic struct {
	Tenant       string
	Conversation string
}

// Notice is a message to a reader: a Delta, a Poke or a Resync.
//
//sumtype:decl
type Notice interface{ notice() }

// Delta is text on its way. The row that follows replaces it.
type Delta struct {
	Topic   `json:"-"`
	Agent   string `json:"agent"`
	Message string `json:"message"`
	// Began is when the publisher began this reply, in Unix nanoseconds. A message that is begun
	// again, by a retry, another model or another process, has a later one, and replaces everything
	// shown of the earlier one.
	Began int64 `json:"began"`
	// Part is the index of the part in the message, and Kind its kind.
	Part int           `json:"part"`
	Kind chat.PartKind `json:"kind"`
	// Tool is set with the first delta of a tool_use.
	Tool string `json:"tool,omitempty"`
	// Offset is where Text belongs in its part, in bytes.
	Offset int64  `json:"offset"`
	Text   string `json:"text,omitempty"`
}

// Appended says that the rows of a conversation go up to a sequence number; zero says that the
// conversation was erased.
type Appended struct {
	Topic `json:"-"`
	Seq   int64 `json:"seq"`
}

// Resync says that notices may have been missed. The reader looks into the journal.
type Resync struct{}

func (Delta) notice()    {}
func (Appended) notice() {}
func (Resync) notice()   {}

// Counts says what became of notices. A host turns it into metrics.
type Counts struct {
	// Sent were handed to readers or to a server, Refused broke a limit below, and Lost found a
	// full queue or no server.
	Sent, Refused, Lost int64
	// Cut counts readers that were too slow.
	Cut int64
}

// The longest text and id that a bus accepts. A Feed splits a longer text.
const (
	MaxText = 8 << 10
	MaxID   = 256
)

// DefaultBuffer is how many notices wait for a reader before it counts as slow.
const DefaultBuffer = 128

var (
	// ErrSlow ends a reader that did not keep up. It has missed the later notices.
	ErrSlow = errors.New("live: reader too slow")
	// ErrClosed ends a reader that was closed, or whose bus was.
	ErrClosed = errors.New("live: closed")
)

// Check reports why no conversation can have this topic, or nil.
func (t Topic) Check() error {
	if t.Conversation == "" {
		return wrongID(0)
	}
	return t.CheckReader()
}

// CheckReader reports why nobody can read this topic, or nil.
func (t Topic) CheckReader() error {
	if n := len(t.Tenant); n == 0 || n > MaxID {
		return wrongID(n)
	}
	if n := len(t.Conversation); n > MaxID {
		return wrongID(n)
	}
	return nil
}

// Whole is the topic of all conversations of a tenant.
func (t Topic) Whole() Topic { return Topic{Tenant: t.Tenant} }

func wrongID(bytes int) error {
	return &chat.Error{
		Code:    chat.CodeInvalid,
		Message: fmt.Sprintf("live: an id has 1 to %d bytes, this one has %d", MaxID, bytes),
	}
}

// Check reports why a bus must not carry the delta, or nil. Text that is not UTF-8 would change its
// length on the way, and with it every offset after it.
func (d Delta) Check() error {
	if err := d.Topic.Check(); err != nil {
		return err
	}
	if len(d.Text) > MaxText || max(len(d.Agent), len(d.Message), len(d.Tool)) > MaxID {
		return errors.New("live: delta too large")
	}
	if !utf8.ValidString(d.Text) {
		return errors.New("live: delta is not UTF-8")
	}
	return nil
}
