package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/journal"
)

// UsageLine is what the model calls of one group used.
type UsageLine struct {
	Name  string `json:"name" doc:"The agent, role, model or conversation. A turn is named AGENT#TURN."`
	Calls int64  `json:"calls" doc:"How many model calls there were."`
	Own   Usage  `json:"own"`
	// Subtree is there for agents only.
	Subtree *Usage `json:"subtree,omitempty" doc:"For agents: the same with all agents below."`
}

// UsageSums is usage in groups and in all.
type UsageSums struct {
	Items []UsageLine `json:"items" doc:"In the order of their first call."`
	Total Usage       `json:"total" doc:"The sum of own of all items."`
}

type (
	conversationUsageInput struct {
		InConversation
		By string `query:"by" enum:"agent,role,model,turn" default:"agent"`
	}
	usageInput struct {
		By    string    `query:"by" enum:"role,model,conversation" default:"model"`
		Since time.Time `query:"since" doc:"Calls that began then or later; 30 days before until if it is left out."`
		Until time.Time `query:"until" doc:"Calls that began before then; now if it is left out."`
	}
	usageOutput struct{ Body UsageSums }
)

// usageSpan is how far back usage is summed when nothing is said.
const usageSpan = 30 * 24 * time.Hour

func (s *Server) usageRoutes() {
	register(s, accessRead, huma.Operation{
		OperationID: "getConversationUsage", Method: http.MethodGet, Path: "/v1/conversations/{conversation}/usage",
		Summary: "What a conversation used", Tags: []string{"usage"},
	}, s.conversationUsage)
	register(s, accessRead, huma.Operation{
		OperationID: "getUsage", Method: http.MethodGet, Path: "/v1/usage",
		Summary: "What all conversations used", Tags: []string{"usage"},
		Description: "Private conversations of others are not counted.",
	}, s.usage)
}

func (s *Server) conversationUsage(ctx context.Context, in *conversationUsageInput) (*usageOutput, error) {
	ref := in.place(ctx)
	state, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	by := journal.UsageBy(in.By)
	list, err := s.options.Log.Usage(ctx, ref.Tenant, journal.UsageQuery{Conversation: ref.Conversation, By: by})
	if err != nil {
		return nil, err
	}
	out := usageSums(list)
	if by == journal.UsageByAgent {
		trees := map[string]Usage{}
		for _, a := range state.Agents {
			trees[a.ID] = usageOf(a.Subtree)
		}
		for i := range out.Items {
			tree := trees[out.Items[i].Name]
			out.Items[i].Subtree = &tree
		}
	}
	return &usageOutput{Body: out}, nil
}

func (s *Server) usage(ctx context.Context, in *usageInput) (*usageOutput, error) {
	until := in.Until
	if until.IsZero() {
		until = s.options.Now()
	}
	since := in.Since
	if since.IsZero() {
		since = until.Add(-usageSpan)
	}
	if !since.Before(until) {
		return nil, &Problem{Code: "invalid", Detail: "since is not before until"}
	}
	list, err := s.options.Log.Usage(ctx, callerOf(ctx).Tenant, journal.UsageQuery{
		By: journal.UsageBy(in.By), Since: since, Until: until,
	})
	if err != nil {
		return nil, err
	}
	return &usageOutput{Body: usageSums(list)}, nil
}

func usageSums(list []journal.Used) UsageSums {
	out := UsageSums{Items: make([]UsageLine, 0, len(list))}
	for _, u := range list {
		own := usageOf(u.Usage)
		out.Items = append(out.Items, UsageLine{Name: u.Name, Calls: u.Calls, Own: own})
		out.Total = out.Total.plus(own)
	}
	return out
}

// plus adds usage up.
func (u Usage) plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, Reasoning: u.Reasoning + v.Reasoning, Cost: u.Cost + v.Cost,
		Unpriced: u.Unpriced + v.Unpriced,
	}
}
