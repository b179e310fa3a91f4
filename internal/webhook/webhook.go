// Package webhook tells other programs what happened in conversations.
//
// An owner registers an address, a secret and the types of events that it wants. A Feeder reads
// each journal from its last position. For each event that a webhook wants it puts a delivery into
// the outbox, in the transaction that moves the position: each event is added exactly once, no
// matter which process is killed when. A Sender takes deliveries out, each for a while; a delivery
// without a report is taken out again. So an event is delivered at least once, under an id that
// stays the same.
//
// The outbox holds no content. A delivery's body is made from the journal when it is sent, and
// content deleted meanwhile is not sent.
//
// The package imports chat and journal. Adapters below it know SQL; where requests may go is
// decided by the client that the sender is given.
package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Hook is a receiver of events.
type Hook struct {
	Tenant string
	ID     string
	URL    string
	// Secret signs deliveries: whsec_ and base64.
	Secret string
	// Types are the events that are wanted; all if empty.
	Types []string
	By    string
	At    time.Time
}

// wants reports whether a hook is told of an event.
func (h Hook) wants(e Event) bool {
	if e.At.Before(h.At) {
		return false
	}
	for _, t := range h.Types {
		if t == e.Type {
			return true
		}
	}
	return len(h.Types) == 0
}

// Event is something in a journal that hooks can be told of.
type Event struct {
	Type string
	Seq  int64
	At   time.Time
	// Body is the body of a delivery.
	Body []byte
}

// Events makes an event of an entry; false if no hook is ever told of it.
type Events func(conversation string, e journal.Entry) (Event, bool)

// Status is the state of a delivery.
type Status string

// The statuses. Gone means that the content was deleted before it was sent.
const (
	Pending   Status = "pending"
	Delivered Status = "delivered"
	Failed    Status = "failed"
	Gone      Status = "gone"
)

// Delivery is an event on its way to a hook.
type Delivery struct {
	Tenant string
	Hook   string
	// ID is the same however often the event is sent, so that the receiver can tell.
	ID           string
	Conversation string
	Seq          int64
	Type         string
	Status       Status
	Attempts     int
	At           time.Time
	// Next is when it is tried next, End when trying ends, Tried when it was tried last.
	Next, End, Tried time.Time
	// Code is the receiver's last answer, and Problem its fault.
	Code    int
	Problem string
}

const (
	// tryFor is how long the sender retries an event.
	tryFor = 24 * time.Hour
	// firstWait is the wait after the first failure, and longestWait the longest; each wait is
	// waitFactor times as long as the one before.
	firstWait   = 5 * time.Second
	longestWait = 4 * time.Hour
	waitFactor  = 3
)

// newDelivery is an event for a hook.
func newDelivery(h Hook, conversation string, e Event, now time.Time) Delivery {
	sum := sha256.Sum256([]byte(strings.Join([]string{h.Tenant, h.ID, conversation, strconv.FormatInt(e.Seq, 10)}, "\x00")))
	return Delivery{
		Tenant: h.Tenant, Hook: h.ID, ID: "msg_" + hex.EncodeToString(sum[:14]), Conversation: conversation, Seq: e.Seq,
		Type: e.Type, Status: Pending, At: now, Next: now, End: now.Add(tryFor),
	}
}

// again is when to try a delivery the next time, after so many attempts; false when the time is
// over. A fifth more or less, by the delivery's id, keeps those that failed together from coming
// together.
func again(d Delivery, now time.Time) (time.Time, bool) {
	if !now.Before(d.End) {
		return time.Time{}, false
	}
	wait := firstWait
	for n := 1; n < d.Attempts && wait < longestWait; n++ {
		wait *= waitFactor
	}
	wait = min(wait, longestWait)
	sum := sha256.Sum256([]byte(d.ID + strconv.Itoa(d.Attempts)))
	wait += time.Duration(float64(wait) * (float64(sum[0])/255 - 0.5) * 0.4)
	if next := now.Add(wait); next.Before(d.End) {
		return next, true
	}
	return d.End, true // one last time
}

// secretPrefix begins every secret.
const secretPrefix = "whsec_"

// NewSecret makes a secret.
func NewSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(b)
}

// secretKey reads a secret, and refuses one that can be guessed.
func secretKey(secret string) ([]byte, error) {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, &chat.Error{
			Code: chat.CodeInvalid, Message: "a secret is whsec_ and 24 to 64 bytes in base64; leave it out and one is made",
		}
	}
	return key, nil
}

// CheckSecret complains about a secret that is none.
func CheckSecret(secret string) error {
	_, err := secretKey(secret)
	return err
}

// Sign is the signature of a delivery with an id and a time, according to Standard Webhooks.
func Sign(secret, id string, at time.Time, body []byte) (string, error) {
	key, err := secretKey(secret)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// Book holds the webhooks that owners see and change.
type Book interface {
	// Add registers a hook and returns it, or the existing one with its id.
	Add(ctx context.Context, h Hook) (Hook, error)
	// Hooks are those of a tenant, without their secrets.
	Hooks(ctx context.Context, tenant string) ([]Hook, error)
	// Remove forgets a hook and all that was to be sent to it.
	Remove(ctx context.Context, tenant, hook string) error
	// Deliveries returns those of a hook that were made before a cursor, the newest first, and the
	// cursor of those before them.
	Deliveries(ctx context.Context, tenant, hook, cursor string, limit int) ([]Delivery, string, error)
	// Replay lets a delivery be sent again, from now on. The same command does so once.
	Replay(ctx context.Context, tenant, hook, delivery, command string, now time.Time) (Delivery, error)
}
