package api

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// ModelCall is one attempt at a model request.
type ModelCall struct {
	Call       string     `json:"call"`
	Seq        int64      `json:"seq"`
	Agent      string     `json:"agent"`
	Task       string     `json:"task"`
	Type       string     `json:"type"`
	Turn       int        `json:"turn,omitempty"`
	Attempt    int        `json:"attempt,omitempty"`
	Model      string     `json:"model,omitempty"`
	Prompt     string     `json:"prompt,omitempty" doc:"The hash under which the system prompt is kept."`
	Status     string     `json:"status" enum:"queued,pending,running,waiting,completed,failed,cancelled,timed_out"`
	Kind       string     `json:"error_kind,omitempty"`
	Usage      Usage      `json:"usage"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

func modelCallOf(c journal.ModelCall) ModelCall {
	return ModelCall{
		Call: c.Call, Seq: c.Seq, Agent: c.Agent, Task: c.Task, Type: string(c.Type), Turn: c.Turn, Attempt: c.Attempt,
		Model: c.Model, Prompt: c.Prompt, Status: string(c.Status), Kind: string(c.Kind), Usage: usageOf(c.Usage),
		StartedAt: moment(c.StartedAt), FinishedAt: moment(c.FinishedAt),
	}
}

// ModelCallView is a model call with what was sent and what came back.
type ModelCallView struct {
	ModelCall
	Request  ModelRequest `json:"request"`
	Reply    []Part       `json:"reply" doc:"What the model said; empty until it did."`
	Stop     string       `json:"stop,omitempty" doc:"Why the reply ended."`
	Message  string       `json:"message,omitempty" doc:"Why the call failed."`
	Provider string       `json:"provider_id,omitempty" doc:"The provider's own name for the exchange."`
	First    int64        `json:"first_token_ms,omitempty"`
	Waited   int64        `json:"waited_ms,omitempty" doc:"How long it waited for its turn with the provider."`
	Duration int64        `json:"duration_ms,omitempty"`
	Retry    int64        `json:"retry_after_ms,omitempty" doc:"How long the provider asked to be left alone."`
	Tries    []Try        `json:"tries,omitempty" doc:"The sendings of the same call before the last one."`
	// Unmetered means that more may have been used than is known.
	Unmetered bool `json:"unmetered,omitempty" doc:"Whether more may have been used than is known."`
}

// ModelRequest is what a model was sent, as far as it is recorded. How tools were described is not,
// nor is what a side question added at the end.
type ModelRequest struct {
	System        string    `json:"system,omitempty" doc:"The system prompt, whole."`
	Messages      []Message `json:"messages" doc:"The agent's transcript up to then, from where it was last shortened; the last 200."`
	Earlier       bool      `json:"earlier,omitempty" doc:"Whether there are messages before these; the agent's messages have them."`
	Tools         []string  `json:"tools" doc:"The tools that the agent was given beside those of every agent."`
	Effort        string    `json:"effort,omitempty"`
	Temperature   *float64  `json:"temperature,omitempty"`
	MaxOutput     int64     `json:"max_output,omitempty" doc:"The most tokens that a reply may have."`
	ContextTokens int64     `json:"context_tokens,omitempty" doc:"About how many tokens were sent."`
}

type (
	modelCallsOutput struct{ Body Page[ModelCall] }
	modelCallOutput  struct{ Body ModelCallView }
	modelCallInput   struct {
		InAgent
		Call string `path:"call" minLength:"1" maxLength:"128"`
		Task string `query:"task" maxLength:"512" doc:"The task that the call is part of, if it is not the agent's first."`
	}
)

// requestMessages is how many messages of a request are shown.
const requestMessages = 200

func (s *Server) modelCalls(ctx context.Context, in *agentPageInput) (*modelCallsOutput, error) {
	list, err := s.options.Log.ModelCalls(ctx, in.place(ctx), in.id(), journal.Page{Limit: in.Limit, Before: in.Before})
	if list, err = listed(ctx, s, in.InAgent, list, err); err != nil {
		return nil, err
	}
	return &modelCallsOutput{Body: page(list, in.Limit, modelCallOf, func(c journal.ModelCall) int64 { return c.Seq })}, nil
}

// modelCall puts a call together from its rows, the kept prompt and the transcript before it.
func (s *Server) modelCall(ctx context.Context, in *modelCallInput) (*modelCallOutput, error) {
	ref, where := in.place(ctx), journal.In{Agent: in.id(), Task: cmp.Or(slashed(in.Task), in.id())}
	entries, err := s.options.Log.Find(ctx, ref, journal.ModelCalled{In: where, Call: in.Call}.Key(),
		journal.ModelReplied{In: where, Call: in.Call}.Key(), journal.TaskAssigned{In: where}.Key())
	if err != nil {
		return nil, err
	}
	out := ModelCallView{Reply: []Part{}, Request: ModelRequest{Messages: []Message{}, Tools: []string{}}}
	var assigned journal.TaskAssigned
	for _, e := range entries {
		if a, ok := e.Row.(journal.TaskAssigned); ok {
			assigned = a
		}
		out.learn(e)
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

// learn takes what a row says of the call.
func (v *ModelCallView) learn(e journal.Entry) {
	switch r := e.Row.(type) {
	case journal.ModelCalled:
		v.ModelCall = ModelCall{
			Call: r.Call, Seq: e.Seq, Agent: r.Agent, Task: r.Task, Type: string(r.Type), Turn: r.Turn, Attempt: r.Attempt,
			Model: r.Model, Prompt: r.Prompt, Status: string(chat.StatusRunning), StartedAt: moment(e.At),
		}
		v.Request.ContextTokens = r.ContextTokens
	case journal.ModelReplied:
		v.Status, v.Kind, v.Usage, v.FinishedAt = string(r.Status), string(r.ErrorKind), usageOf(r.Usage), moment(e.At)
		v.Model, v.Stop, v.Message, v.Provider = cmp.Or(r.Model, v.Model), r.Stop, r.Message, r.Provider
		v.First, v.Waited, v.Duration, v.Retry, v.Unmetered = r.First, r.Waited, r.Duration, r.RetryAfter, r.Unmetered
		v.Reply, v.Tries = partsOf(r.Parts), triesOf(r.Tries)
	default: // nothing else is the call's
	}
}

func triesOf(tries []journal.Try) (out []Try) {
	for _, t := range tries {
		out = append(out, Try{Model: t.Model, Kind: string(t.Kind)})
	}
	return out
}

// settings are what the agent's brief and its role say of every request.
func (s *Server) settings(ctx context.Context, ref journal.Ref, out *ModelRequest, a journal.TaskAssigned) error {
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
		out.Tools, out.MaxOutput = each(brief.Tools, func(name string) string { return name }), brief.Model.MaxOutput
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
func (s *Server) sent(ctx context.Context, ref journal.Ref, out *ModelCallView) error {
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
	out.Request.Messages = each(messages, messageOf)
	return nil
}

// replied reads what the model said, if it became part of the transcript.
func (s *Server) replied(ctx context.Context, ref journal.Ref, out *ModelCallView) error {
	if out.Turn == 0 || out.Status != string(chat.StatusCompleted) || len(out.Reply) > 0 {
		return nil
	}
	spoke := journal.MessageAdded{In: journal.In{Agent: out.Agent}, Message: chat.Message{ID: journal.ReplyMark + strconv.Itoa(out.Turn)}}
	entries, err := s.options.Log.Find(ctx, ref, spoke.Key())
	for _, e := range entries {
		out.Reply = partsOf(journal.MessageOf(e).Parts)
	}
	return err
}
