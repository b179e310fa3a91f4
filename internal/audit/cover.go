package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Cover holds a trail's entries on a tenant's conversations, for comparison with the journal.
type Cover struct {
	decided map[string]bool
	effects map[string]bool
	reached map[string]bool
	// allowed are the calls that a person allowed, each with how far that goes.
	allowed map[string]bool
	// since is the start of the trail. It has no entries for older rows of the journal.
	since time.Time
	// Conversations are those that the trail speaks of, in no order.
	Conversations map[string]bool
}

// NewCover covers nothing.
func NewCover() *Cover {
	return &Cover{decided: map[string]bool{}, effects: map[string]bool{}, reached: map[string]bool{}, allowed: map[string]bool{}, Conversations: map[string]bool{}}
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
		if scope, ok := strings.CutPrefix(e.Detail, "allow=true scope="); ok && e.Outcome == Accepted {
			c.allowed[place+"\x00"+scope] = true
		}
	case ActionEffect:
		c.effects[place] = true
	case ActionReach:
		c.reached[place+"\x00"+e.Detail] = true
	case ActionOpen, ActionShare, ActionArchive, ActionDelete, ActionErase, ActionExport, ActionPost, ActionCancel, ActionGrant, ActionDeny,
		ActionImport, ActionKeyCreate, ActionKeyRevoke, ActionMemberAdd, ActionMemberJoin, ActionMemberRole, ActionMemberRemove, ActionMemberDelete,
		ActionTenantCreate, ActionTenantDelete, ActionTenantDeleted, ActionPolicy, ActionLogin, ActionLinkCreate, ActionSessionBegin, ActionSessionEnd, ActionWebhookCreate, ActionWebhookRemove, ActionWebhookReplay:
	}
}

// Gaps are facts that the journal of a conversation has and the trail lacks: decisions on
// approvals, by call and digest, approvals that nobody gave, calls that must not happen twice, and
// hosts that calls reached. A removed conversation has none. Nor has an imported one: its events
// happened elsewhere and are on a trail there.
func (c *Cover) Gaps(ctx context.Context, log journal.Reader, ref journal.Ref) (checked int, gaps []string, err error) {
	if journal.Imported(ref.Conversation) {
		return 0, nil, nil
	}
	for seq := int64(0); ; {
		entries, err := log.Entries(ctx, ref, seq, journal.PageMaxLimit)
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
			case journal.ApprovalDecided:
				checked++
				if !c.decided[ref.Conversation+"\x00"+ObjectOf(r.Agent, r.Call)+"\x00"+digestOf(r)] {
					gaps = append(gaps, fmt.Sprintf("%s, event %d: a decision on %s", ref.Conversation, e.Seq, ObjectOf(r.Agent, r.Call)))
				}
			case journal.ApprovalClosed:
				if r.Status != "approved" {
					continue
				}
				checked++
				if !c.allowed[ref.Conversation+"\x00"+ObjectOf(r.Agent, r.Call)+"\x00"+r.Scope] {
					gaps = append(gaps, fmt.Sprintf("%s, event %d: nobody allowed the call %s", ref.Conversation, e.Seq, ObjectOf(r.Agent, r.Call)))
				}
			case journal.ToolStarted:
				if _, audited := recordOf(r); !audited {
					continue
				}
				checked++
				if !c.effects[ref.Conversation+"\x00"+ObjectOf(r.Agent, r.Call)] {
					gaps = append(gaps, fmt.Sprintf("%s, event %d: the call %s", ref.Conversation, e.Seq, ObjectOf(r.Agent, r.Call)))
				}
			case journal.HostReached:
				record, _ := recordOf(r)
				checked++
				if !c.reached[ref.Conversation+"\x00"+record.Object+"\x00"+record.Detail] {
					gaps = append(gaps, fmt.Sprintf("%s, event %d: the call %s and %s", ref.Conversation, e.Seq, record.Object, record.Detail))
				}
			default: // nothing that needs an entry
			}
		}
		if len(entries) == 0 {
			return checked, gaps, nil
		}
	}
}
