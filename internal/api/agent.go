package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// InAgent names an agent of a conversation.
type InAgent struct {
	route.InConversation
	Agent string `path:"agent" minLength:"1" maxLength:"512" doc:"The agent's id with ~ in the place of /." example:"main~1.0"`
}

// id is the agent's id.
func (p InAgent) id() string { return addressed(p.Agent) }

// addressed is the agent or the task that an address names.
func addressed(address string) string { return string(chat.ParseAddress(address)) }

type (
	agentInput     struct{ InAgent }
	agentPageInput struct {
		InAgent
		route.Paged
	}
	toolCallInput struct {
		InAgent
		Call string `path:"call" minLength:"1" maxLength:"128"`
	}
	agentsOutput    struct{ Body wire.Page[wire.Agent] }
	agentOutput     struct{ Body wire.AgentView }
	toolCallsOutput struct{ Body wire.Page[wire.ToolCall] }
	toolCallOutput  struct{ Body wire.ToolCallView }
)

func (s *Server) agentRoutes() {
	const base = "/v1/conversations/{conversation}"
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: base + path, Summary: summary, Tags: []string{"agents"},
		}
	}
	route.Add(s.table, admission.AccessRead, read("listAgents", "/agents", "Everyone who works in a conversation"), s.agents)
	route.Add(s.table, admission.AccessRead, read("getAgent", "/agents/{agent}", "One agent with its tasks"), s.agent)
	route.Add(s.table, admission.AccessRead, read("listChildren", "/agents/{agent}/children", "The agents that one asked for help"), s.children)
	route.Add(s.table, admission.AccessRead, read("listAgentMessages", "/agents/{agent}/messages", "An agent's transcript"), s.transcript)
	route.Add(s.table, admission.AccessRead, read("listToolCalls", "/agents/{agent}/tool-calls", "What an agent used tools for"), s.toolCalls)
	route.Add(s.table, admission.AccessRead, read("getToolCall", "/agents/{agent}/tool-calls/{call}", "One tool call, whole"), s.toolCall)
	route.Add(s.table, admission.AccessRead, read("listModelCalls", "/agents/{agent}/model-calls", "What an agent asked models"), s.modelCalls)
	route.Add(s.table, admission.AccessRead, read("getModelCall", "/agents/{agent}/model-calls/{call}", "One model call: what was sent, as far as it is recorded, and what came back"), s.modelCall)
}

func (s *Server) agents(ctx context.Context, in *conversationInput) (*agentsOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.Place(ctx))
	if err != nil {
		return nil, err
	}
	return &agentsOutput{Body: wire.Page[wire.Agent]{Items: route.Each(state.Agents, events.Agent)}}, nil
}

func (s *Server) agent(ctx context.Context, in *agentInput) (*agentOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.Place(ctx))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(state.Agents, func(a journal.Agent) bool { return a.ID == in.id() })
	if i < 0 {
		return nil, journal.NotFound()
	}
	out := wire.AgentView{Agent: events.Agent(state.Agents[i])}
	mine := slices.DeleteFunc(state.Tasks, func(t journal.Task) bool { return t.Agent != in.id() })
	if out.Tasks, err = s.whole(ctx, in.Place(ctx), mine); err != nil {
		return nil, err
	}
	out.Config, err = s.setUp(ctx, in.Place(ctx), state.Conversation.Workspace, state.Agents[i])
	return &agentOutput{Body: out}, err
}

// setUp reads how an agent was set up. Where values came from is not recorded: today's files say
// it, if the role that they give is the same one.
func (s *Server) setUp(ctx context.Context, ref journal.Ref, workspace string, a journal.Agent) (wire.AgentConfig, error) {
	var out wire.AgentConfig
	if a.RoleHash == "" {
		return out, nil
	}
	text, err := s.options.Log.Text(ctx, ref, a.RoleHash)
	switch {
	case chat.CodeOf(err) == chat.CodeNotFound: // as in a conversation that was imported
	case err != nil:
		return out, err
	case json.Valid([]byte(text)):
		out.Role = json.RawMessage(text)
	}
	today, err := s.options.Roles.Role(ctx, workspace, a.Role)
	if err != nil || today.Hash != a.RoleHash {
		return out, nil //nolint:nilerr // a role that is gone, or cannot be read any more, is not today's
	}
	out.Current, out.Origins, out.Source = true, today.Origins, today.Source
	return out, nil
}

func (s *Server) children(ctx context.Context, in *agentInput) (*agentsOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.Place(ctx))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(state.Agents, func(a journal.Agent) bool { return a.ID == in.id() }) {
		return nil, journal.NotFound()
	}
	below := slices.DeleteFunc(state.Agents, func(a journal.Agent) bool { return a.Parent != in.id() })
	return &agentsOutput{Body: wire.Page[wire.Agent]{Items: route.Each(below, events.Agent)}}, nil
}

// known complains about an agent that the conversation does not have. An agent's first task has its
// name, so that one row says it.
func (s *Server) known(ctx context.Context, in InAgent) error {
	entries, err := s.options.Log.Find(ctx, in.Place(ctx), journal.TaskAssigned{In: journal.In{Task: in.id()}}.Key())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if a, ok := e.Row.(journal.TaskAssigned); ok && a.Agent == in.id() {
			return nil
		}
	}
	return journal.NotFound()
}

// listed is a list of an agent's. Only when it is empty is it worth asking whether there is such an
// agent.
func listed[T any](ctx context.Context, s *Server, in InAgent, list []T, err error) ([]T, error) {
	if err == nil && len(list) == 0 {
		err = s.known(ctx, in)
	}
	return list, err
}

func (s *Server) transcript(ctx context.Context, in *agentPageInput) (*messagesOutput, error) {
	list, err := s.options.Log.Transcript(ctx, in.Place(ctx), in.id(), journal.Page{Limit: in.Limit, Before: in.Before})
	if list, err = listed(ctx, s, in.InAgent, list, err); err != nil {
		return nil, err
	}
	return &messagesOutput{Body: route.Page(list, in.Limit, events.Message, func(m journal.Message) int64 { return m.Seq })}, nil
}

func (s *Server) toolCalls(ctx context.Context, in *agentPageInput) (*toolCallsOutput, error) {
	list, err := s.options.Log.ToolCalls(ctx, in.Place(ctx), in.id(), journal.Page{Limit: in.Limit, Before: in.Before})
	if list, err = listed(ctx, s, in.InAgent, list, err); err != nil {
		return nil, err
	}
	return &toolCallsOutput{Body: route.Page(list, in.Limit, events.ToolCall, func(c journal.ToolCall) int64 { return c.Seq })}, nil
}

// toolCall reads a call out of the message that asked for it, and its result.
func (s *Server) toolCall(ctx context.Context, in *toolCallInput) (*toolCallOutput, error) {
	turn, _, ok := chat.CallID(in.Call).Parse()
	if !ok {
		return nil, journal.NotFound()
	}
	ref := in.Place(ctx)
	messages, err := s.options.Log.Transcript(ctx, ref, in.id(), journal.Page{Limit: journal.PageMaxLimit})
	if err != nil {
		return nil, err
	}
	out := wire.ToolCallView{Call: in.Call, Agent: in.id()}
	for _, m := range messages {
		if m.Turn != turn {
			continue
		}
		for _, p := range m.Parts {
			if p.Kind == "tool_use" && p.Call == in.Call {
				out.Tool, out.Args = p.Tool, p.Args
			}
		}
	}
	entries, err := s.options.Log.Find(ctx, ref, journal.ToolReturned{In: journal.In{Agent: in.id()}, Call: in.Call}.Key())
	if err != nil {
		return nil, err
	}
	if out.Tool == "" && len(entries) == 0 {
		return nil, journal.NotFound()
	}
	for _, e := range entries {
		if r, ok := e.Row.(journal.ToolReturned); ok {
			out.Status, out.Text, out.Whole, out.Reason = string(r.Status), r.Text, r.Whole, r.Reason
			out.Facts, out.Duration = r.Facts, r.Duration
		}
	}
	return &toolCallOutput{Body: out}, nil
}
