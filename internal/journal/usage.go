package journal

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// UsageBy is what usage is grouped by.
type UsageBy string

// The groups. A turn is named AGENT#TURN.
const (
	UsageByConversation UsageBy = "conversation"
	UsageByAgent        UsageBy = "agent"
	UsageByRole         UsageBy = "role"
	UsageByModel        UsageBy = "model"
	UsageByTurn         UsageBy = "turn"
)

// UsageQuery asks what was used by model calls that began at Since or later and before Until, in
// one conversation or, if it names none, in all of the tenant's. Zero times set no bound.
type UsageQuery struct {
	Conversation string
	By           UsageBy
	Since, Until time.Time
}

// Span is the query's times with bounds that every store knows.
func (q UsageQuery) Span() (since, until time.Time) {
	since, until = q.Since, q.Until
	if since.IsZero() {
		since = time.UnixMilli(0)
	}
	if until.IsZero() {
		until = time.UnixMilli(1 << 47)
	}
	return since.UTC(), until.UTC()
}

// Used is what the model calls of one group used.
type Used struct {
	Name  string
	Calls int64
	Usage chat.Usage
}

// usedSince is a sum on its way, with the moment of its first call.
type usedSince struct {
	Used
	first time.Time
}

// Usage sums the model calls of conversations.
func Usage(views []*View, query UsageQuery) []Used {
	since, until := query.Span()
	at := map[string]int{}
	var groups []usedSince
	for _, v := range views {
		if query.Conversation != "" && query.Conversation != v.conversation.ID {
			continue
		}
		for _, c := range v.modelCalls {
			if c.StartedAt.Before(since) || !c.StartedAt.Before(until) {
				continue
			}
			name := v.groupOf(c, query.By)
			i, ok := at[name]
			if !ok {
				i = len(groups)
				at[name] = i
				groups = append(groups, usedSince{Used: Used{Name: name}, first: c.StartedAt})
			}
			g := &groups[i]
			g.Calls, g.Usage = g.Calls+1, g.Usage.Plus(c.Usage)
			if c.StartedAt.Before(g.first) {
				g.first = c.StartedAt
			}
		}
	}
	slices.SortFunc(groups, func(a, b usedSince) int {
		return cmp.Or(a.first.Compare(b.first), strings.Compare(a.Name, b.Name))
	})
	out := make([]Used, len(groups))
	for i, g := range groups {
		out[i] = g.Used
	}
	return out
}

// groupOf is the group that a model call belongs to.
func (v *View) groupOf(c ModelCall, by UsageBy) string {
	switch by {
	case UsageByAgent:
		return c.Agent
	case UsageByRole:
		return v.agents[v.agentAt[c.Agent]].Role
	case UsageByModel:
		return c.Model
	case UsageByTurn:
		return c.Agent + "#" + strconv.Itoa(c.Turn)
	case UsageByConversation:
	}
	return v.conversation.ID
}
