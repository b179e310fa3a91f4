package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

type (
	conversationUsageInput struct {
		route.InConversation
		By string `query:"by" enum:"agent,role,model,turn" default:"agent"`
	}
	usageInput struct {
		By    string    `query:"by" enum:"role,model,conversation" default:"model"`
		Since time.Time `query:"since" doc:"Calls that began then or later; 30 days before until if it is left out."`
		Until time.Time `query:"until" doc:"Calls that began before then; now if it is left out."`
	}
	usageOutput struct{ Body wire.UsageSums }
)

// usageSpan is how far back usage is summed when nothing is said.
const usageSpan = 30 * 24 * time.Hour

func (s *Server) usageRoutes() {
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "getConversationUsage", Method: http.MethodGet, Path: "/v1/conversations/{conversation}/usage",
		Summary: "What a conversation used", Tags: []string{"usage"},
	}, s.conversationUsage)
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "getUsage", Method: http.MethodGet, Path: "/v1/usage",
		Summary: "What all conversations used", Tags: []string{"usage"},
		Description: "Private conversations of others are not counted.",
	}, s.usage)
}

func (s *Server) conversationUsage(ctx context.Context, in *conversationUsageInput) (*usageOutput, error) {
	ref := in.Place(ctx)
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
		trees := map[string]wire.Usage{}
		for _, a := range state.Agents {
			trees[a.ID] = events.Usage(a.Subtree)
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
		return nil, &admission.Problem{Code: "invalid", Detail: "since is not before until"}
	}
	list, err := s.options.Log.Usage(ctx, admission.CallerOf(ctx).Tenant, journal.UsageQuery{
		By: journal.UsageBy(in.By), Since: since, Until: until,
	})
	if err != nil {
		return nil, err
	}
	return &usageOutput{Body: usageSums(list)}, nil
}

func usageSums(list []journal.Used) wire.UsageSums {
	out := wire.UsageSums{Items: make([]wire.UsageLine, 0, len(list))}
	for _, u := range list {
		own := events.Usage(u.Usage)
		out.Items = append(out.Items, wire.UsageLine{Name: u.Name, Calls: u.Calls, Own: own})
		out.Total = plus(out.Total, own)
	}
	return out
}

// plus adds usage up.
func plus(u, v wire.Usage) wire.Usage {
	return wire.Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, Reasoning: u.Reasoning + v.Reasoning, Cost: u.Cost + v.Cost,
		Unpriced: u.Unpriced + v.Unpriced,
	}
}
