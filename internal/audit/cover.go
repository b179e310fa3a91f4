package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Cover is what a trail says of a tenant's conversations, to be held against the journal.
type Cover struct {
	decided map[string]bool
	effects map[string]bool
	// since is when the trail begins: what the journal has from before that, it does not know.
	since time.Time
	// Conversations are those that the trail speaks of, in no order.
	Conversations map[string]bool
}

// NewCover covers nothing.
func NewCover() *Cover {
	return &Cover{decided: map[string]bool{}, effects: map[string]bool{}, Conversations: map[string]bool{}}
}

// Add takes an entry into account.
func (c *Cover) Add(e Entry) {
	if e.Seq == 1 {
		c.since = e.At
	}
	if e.Conversation != "" {
		c.Conversations[e.Conversation] = true
	}
	place := e.Conversation + "\x00" + e.Object
	switch e.Action {
	case ActionDecide:
		c.decided[place+"\x00"+e.Digest] = true
	case ActionEffect:
		c.effects[place] = true
	case ActionOpen, ActionArchive, ActionDelete, ActionErase, ActionExport, ActionPost, ActionCancel, ActionGrant, ActionDeny,
		ActionImport, ActionKeyCreate, ActionKeyRevoke, ActionMemberAdd, ActionMemberJoin, ActionMemberRole, ActionMemberRemove,
		ActionTenantCreate, ActionLogin, ActionSessionBegin, ActionSessionEnd, ActionWebhookCreate, ActionWebhookRemove, ActionWebhookReplay:
	}
}

// Gaps are what the journal of a conversation has and the trail does not: decisions on approvals, by
// call and digest, and calls that must not happen twice. A conversation that was removed has none, nor has
// one that was imported: what it tells of happened elsewhere, and is on a trail there.
func (c *Cover) Gaps(ctx context.Context, log journal.Reader, place journal.Place) (checked int, gaps []string, err error) {
	if journal.Imported(place.Conversation) {
		return 0, nil, nil
	}
	for seq := int64(0); ; {
		entries, err := log.Entries(ctx, place, seq, journal.PageMaxLimit)
		if chat.CodeOf(err) == chat.CodeNotFound {
			return checked, gaps, nil
		}
		if err != nil {
			return checked, gaps, err
		}
		for _, e := range entries {
			seq = e.Seq
			if e.At.Before(c.since) {
				continue
			}
			switch r := e.Row.(type) {
			case journal.Decided:
				checked++
				if !c.decided[place.Conversation+"\x00"+ObjectOf(r.Agent, r.Call)+"\x00"+digestOf(r)] {
					gaps = append(gaps, fmt.Sprintf("%s, event %d: a decision on %s", place.Conversation, e.Seq, ObjectOf(r.Agent, r.Call)))
				}
			case journal.Started:
				if _, audited := recordOf(r); !audited {
					continue
				}
				checked++
				if !c.effects[place.Conversation+"\x00"+ObjectOf(r.Agent, r.Call)] {
					gaps = append(gaps, fmt.Sprintf("%s, event %d: the call %s", place.Conversation, e.Seq, ObjectOf(r.Agent, r.Call)))
				}
			default: // nothing that needs an entry
			}
		}
		if len(entries) == 0 {
			return checked, gaps, nil
		}
	}
}
