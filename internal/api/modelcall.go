package api

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

type (
	modelCallsOutput struct{ Body wire.Page[wire.ModelCall] }
	modelCallOutput  struct{ Body wire.ModelCallView }
	modelCallInput   struct {
		InAgent
		Call string `path:"call" minLength:"1" maxLength:"128"`
		Task string `query:"task" maxLength:"512" doc:"The task that the call is part of, if it is not the agent's first."`
	}
)

// requestMessages is how many messages of a request are shown.
const requestMessages = 200

func (s *Server) modelCalls(ctx context.Context, in *agentPageInput) (*modelCallsOutput, error) {
	list, err := s.options.Log.ModelCalls(ctx, in.Place(ctx), in.id(), journal.Page{Limit: in.Limit, Before: in.Before})
	if list, err = listed(ctx, s, in.InAgent, list, err); err != nil {
		return nil, err
	}
	return &modelCallsOutput{Body: route.Page(list, in.Limit, events.ModelCall, func(c journal.ModelCall) int64 { return c.Seq })}, nil
}

// modelCall puts a call together from its rows, the kept prompt and the transcript before it.
func (s *Server) modelCall(ctx context.Context, in *modelCallInput) (*modelCallOutput, error) {
	ref, where := in.Place(ctx), journal.In{Agent: in.id(), Task: cmp.Or(addressed(in.Task), in.id())}
	entries, err := s.options.Log.Find(ctx, ref, journal.ModelCalled{In: where, Call: in.Call}.Key(),
		journal.ModelReplied{In: where, Call: in.Call}.Key(), journal.TaskAssigned{In: where}.Key())
	if err != nil {
		return nil, err
	}
	out := wire.ModelCallView{Reply: []wire.Part{}, Request: wire.ModelRequest{Messages: []wire.Message{}, Tools: []string{}}}
	var assigned journal.TaskAssigned
	for _, e := range entries {
		if a, ok := e.Row.(journal.TaskAssigned); ok {
			assigned = a
		}
		events.LearnModelCall(&out, e)
	}
	if out.Call == "" || out.Agent != in.id() {
		return nil, journal.NotFound()
	}
	if err := s.settings(ctx, ref, &out.Request, assigned); err != nil {
		return nil, err
	}
	if out.Request.System, err = s.kept(ctx, ref, out.Prompt); err != nil {
		return nil, err
	}
	if err := s.sent(ctx, ref, &out); err != nil {
		return nil, err
	}
	return &modelCallOutput{Body: out}, s.replied(ctx, ref, &out)
}

// settings are what the agent's brief and its role say of every request.
func (s *Server) settings(ctx context.Context, ref journal.Ref, out *wire.ModelRequest, a journal.TaskAssigned) error {
	var brief struct {
		Tools []string `json:"tools"`
		Model struct {
			MaxOutput int64 `json:"max_output"`
		} `json:"model"`
	}
	var role struct {
		Effort      string   `json:"effort"`
		Temperature *float64 `json:"temperature"`
	}
	text, err := s.kept(ctx, ref, a.RoleHash)
	if err != nil {
		return err
	}
	// A brief or role that cannot be read, of an older or newer program, is left out.
	if json.Unmarshal(a.Brief, &brief) == nil {
		out.Tools, out.MaxOutput = route.Each(brief.Tools, func(name string) string { return name }), brief.Model.MaxOutput
	}
	if json.Unmarshal([]byte(text), &role) == nil {
		out.Effort, out.Temperature = role.Effort, role.Temperature
	}
	return nil
}

// kept is a kept text, empty if there is none.
func (s *Server) kept(ctx context.Context, ref journal.Ref, hash string) (string, error) {
	if hash == "" {
		return "", nil
	}
	text, err := s.options.Log.Text(ctx, ref, hash)
	if chat.CodeOf(err) == chat.CodeNotFound {
		return "", nil
	}
	return text, err
}

// sent reads the transcript as it was when the call began.
func (s *Server) sent(ctx context.Context, ref journal.Ref, out *wire.ModelCallView) error {
	messages, err := s.options.Log.Transcript(ctx, ref, out.Agent, journal.Page{Limit: requestMessages, Before: out.Seq})
	if err != nil {
		return err
	}
	out.Request.Earlier = len(messages) == requestMessages
	for i := len(messages) - 1; i >= 0; i-- {
		if strings.HasPrefix(messages[i].ID, journal.CompactMark) {
			messages, out.Request.Earlier = messages[i:], false
			break
		}
	}
	out.Request.Messages = route.Each(messages, events.Message)
	return nil
}

// replied reads what the model said, if it became part of the transcript.
func (s *Server) replied(ctx context.Context, ref journal.Ref, out *wire.ModelCallView) error {
	if out.Turn == 0 || out.Status != string(chat.StatusCompleted) || len(out.Reply) > 0 {
		return nil
	}
	spoke := journal.MessageAdded{In: journal.In{Agent: out.Agent}, Message: chat.Message{ID: journal.ReplyMark + strconv.Itoa(out.Turn)}}
	entries, err := s.options.Log.Find(ctx, ref, spoke.Key())
	for _, e := range entries {
		out.Reply = events.Parts(journal.MessageOf(e).Parts)
	}
	return err
}
