package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/api/watch"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

type (
	noInput   struct{}
	listInput struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor   string `query:"cursor" maxLength:"256" doc:"From the page before."`
		Archived bool   `query:"archived" doc:"Those that are archived, and no others."`
	}
	limitInput struct {
		Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	}
	searchInput struct {
		Words        string `query:"q" required:"true" minLength:"1" maxLength:"500" doc:"All of them must be there."`
		Conversation string `query:"conversation" maxLength:"128"`
		SubAgents    bool   `query:"sub_agents" doc:"Search what sub-agents said as well."`
		Limit        int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	}
	textInput struct {
		route.InConversation
		Hash string `path:"hash" pattern:"^[0-9a-f]{64}$"`
	}
	meOutput            struct{ Body wire.Me }
	conversationsOutput struct{ Body wire.Conversations }
	inboxOutput         struct {
		Body struct {
			Items []wire.Waiting `json:"items" doc:"The oldest first."`
		}
	}
	searchOutput struct {
		Body struct {
			Items []wire.Hit `json:"items" doc:"The newest first."`
		}
	}
	textOutput struct {
		Body struct {
			Text string `json:"text"`
		}
	}
)

func (s *Server) listRoutes() {
	read := func(id, path, summary, tag string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{tag}}
	}
	search := read("search", "/v1/search", "Messages by words", "conversations")
	search.Metadata = route.As(admission.KindSearch)
	route.Add(s.table, admission.AccessRead, read("getMe", "/v1/me", "Who asks", "people"), s.me)
	route.Add(s.table, admission.AccessRead, read("listConversations", "/v1/conversations", "The conversations, without those that are archived", "conversations"), s.conversations)
	route.Add(s.table, admission.AccessRead, read("listInbox", "/v1/inbox", "All that waits for a person", "asks"), s.inbox)
	route.Add(s.table, admission.AccessRead, search, s.search)
	route.Add(s.table, admission.AccessRead, read("getText", "/v1/conversations/{conversation}/texts/{hash}", "A kept text: a prompt, a whole output, a patch", "agents"), s.text)
	s.roleRoutes()
	s.usageRoutes()
}

func (s *Server) me(ctx context.Context, _ *noInput) (*meOutput, error) {
	c := admission.CallerOf(ctx)
	return &meOutput{Body: wire.Me{
		Tenant: c.Tenant, User: c.User, Name: c.Name, Role: string(c.Role), Scopes: route.Each(c.Scopes, func(s people.Scope) string { return string(s) }),
	}}, nil
}

func (s *Server) conversations(ctx context.Context, in *listInput) (*conversationsOutput, error) {
	tenant := admission.CallerOf(ctx).Tenant
	list, err := s.options.Log.Conversations(ctx, tenant, journal.Page{Limit: in.Limit, Cursor: in.Cursor, Archived: in.Archived})
	if err != nil {
		return nil, err
	}
	lines, err := s.options.Log.Lines(ctx, tenant, route.Each(list, func(c journal.Conversation) string { return c.ID })...)
	if err != nil {
		return nil, err
	}
	out := wire.Conversations{Items: route.Each(list, func(c journal.Conversation) wire.ListedConversation {
		return wire.ListedConversation{Conversation: events.Conversation(c), Running: lines[c.ID].Running, Last: string(lines[c.ID].Last)}
	})}
	if len(list) == in.Limit {
		out.Cursor = list[len(list)-1].Cursor()
	}
	return &conversationsOutput{Body: out}, nil
}

func (s *Server) inbox(ctx context.Context, in *limitInput) (*inboxOutput, error) {
	tenant := admission.CallerOf(ctx).Tenant
	waiting, err := s.options.Log.Inbox(ctx, tenant, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &inboxOutput{}
	out.Body.Items = make([]wire.Waiting, 0, len(waiting))
	for _, w := range waiting {
		item, err := watch.Waiting(ctx, s.options.Log, tenant, w)
		if err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, item)
	}
	return out, nil
}

func (s *Server) search(ctx context.Context, in *searchInput) (*searchOutput, error) {
	hits, err := s.options.Log.Search(ctx, admission.CallerOf(ctx).Tenant, journal.Query{
		Words: in.Words, Conversation: in.Conversation, SubAgents: in.SubAgents, Limit: in.Limit,
	})
	if err != nil {
		return nil, err
	}
	out := &searchOutput{}
	out.Body.Items = route.Each(hits, func(h journal.Hit) wire.Hit {
		return wire.Hit{
			Conversation: h.Conversation, Seq: h.Seq, At: h.At.UTC(), Agent: h.Agent, Speaker: string(h.Speaker), Text: h.Text,
		}
	})
	return out, nil
}

func (s *Server) text(ctx context.Context, in *textInput) (*textOutput, error) {
	text, err := s.options.Log.Text(ctx, in.Place(ctx), in.Hash)
	out := &textOutput{}
	out.Body.Text = text
	return out, err
}
