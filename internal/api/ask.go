package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/journal"
)

// InApproval names an approval of a conversation. Like all that others are made of it is exported: huma
// sees no parameters in what is not.
type InApproval struct {
	InConversation
	Approval string `path:"approval" minLength:"3" maxLength:"640"`
}

type (
	questionsOutput struct{ Body Page[Question] }
	approvalsOutput struct{ Body Page[Approval] }
	approvalOutput  struct{ Body Approval }
	approvalInput   struct{ InApproval }
	decideInput     struct {
		InApproval
		Keyed
		Body struct {
			Allow bool   `json:"allow"`
			Hash  string `json:"hash" minLength:"1" maxLength:"128" doc:"The approval's hash: what was shown is what is decided."`
			Scope string `json:"scope,omitempty" enum:"once,task,conversation" doc:"How far it goes; empty means once."`
			Note  string `json:"note,omitempty" maxLength:"2000" doc:"Why not; the agent is told."`
			// Args keep the numbers as they were written.
			Args map[string]json.RawMessage `json:"args,omitempty" doc:"All the arguments to run the call with instead of the agent's, of the same tool. With allow, and for once only. They are checked as the agent's were, and the agent is told."`
		}
	}
)

func (s *Server) askRoutes() {
	const base = "/v1/conversations/{conversation}"
	register(s, accessRead, huma.Operation{
		OperationID: "listApprovals", Method: http.MethodGet, Path: base + "/approvals",
		Summary: "What wanted or wants a person's approval", Tags: []string{"asks"},
	}, s.approvals)
	register(s, accessRead, huma.Operation{
		OperationID: "getApproval", Method: http.MethodGet, Path: base + "/approvals/{approval}",
		Summary: "One approval with what the person is shown", Tags: []string{"asks"},
	}, s.approval)
	register(s, accessCommand, huma.Operation{
		OperationID: "decideApproval", Method: http.MethodPost, Path: base + "/approvals/{approval}/decision",
		Summary: "Allow or deny a call, or allow it with other arguments", Tags: []string{"commands"},
	}, s.decide)
	register(s, accessRead, huma.Operation{
		OperationID: "listQuestions", Method: http.MethodGet, Path: base + "/questions",
		Summary: "What agents wanted or want to know", Tags: []string{"asks"},
	}, s.questions)
}

// approvalID names an approval in its conversation, as it can stand in an address.
func approvalID(agent, call string) string { return strings.ReplaceAll(agent, "/", "~") + ":" + call }

// wanted is the key of the approval that an id names.
func wanted(id string) (agent, call string, err error) {
	agent, call, ok := strings.Cut(slashed(id), ":")
	if !ok || agent == "" || call == "" {
		return "", "", journal.NotFound()
	}
	return agent, call, nil
}

// asks are the questions and approvals of a conversation. Those that wait have their content.
func (s *Server) asks(ctx context.Context, ref journal.Ref, state journal.Snapshot) ([]Question, []Approval, error) {
	var keys []string
	questions := each(state.Questions, func(q journal.Question) Question {
		if q.Status != journal.QuestionStatusClosed {
			keys = append(keys, journal.QuestionAsked{Question: q.ID}.Key())
		}
		return Question{
			ID: q.ID, Seq: q.Seq, Agent: q.Agent, Task: q.Task, Status: string(q.Status), By: q.By, At: q.At.UTC(), Until: until(q.Until),
		}
	})
	approvals := each(state.Approvals, func(a journal.Approval) Approval {
		if a.Status == journal.ApprovalStatusOpen {
			keys = append(keys, journal.ApprovalRequested{In: journal.In{Agent: a.Agent}, Call: a.Call}.Key())
		}
		return approvalOf(a)
	})
	if len(keys) == 0 {
		return questions, approvals, nil
	}
	entries, err := s.options.Log.Find(ctx, ref, keys...)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.QuestionAsked:
			for i := range questions {
				if questions[i].ID == r.Question {
					questions[i].Text, questions[i].Options = r.Text, r.Options
				}
			}
		case journal.ApprovalRequested:
			for i := range approvals {
				if approvals[i].Agent == r.Agent && approvals[i].Call == r.Call {
					approvals[i].Show, approvals[i].Pattern, approvals[i].Sources = r.Show, r.Pattern, sourcesOf(r.Sources)
				}
			}
		default: // nothing else was asked for
		}
	}
	return questions, approvals, nil
}

func approvalOf(a journal.Approval) Approval {
	return Approval{
		ID: approvalID(a.Agent, a.Call), Seq: a.Seq, Agent: a.Agent, Task: a.Task, Call: a.Call, Tool: a.Tool, Hash: a.Hash,
		Status: string(a.Status), By: a.By, Allow: a.Allow, Scope: a.Scope, Edited: a.Edited, At: a.At.UTC(), Until: until(a.Until),
	}
}

func (s *Server) approvals(ctx context.Context, in *conversationInput) (*approvalsOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.place(ctx))
	if err != nil {
		return nil, err
	}
	_, list, err := s.asks(ctx, in.place(ctx), state)
	return &approvalsOutput{Body: Page[Approval]{Items: list}}, err
}

func (s *Server) questions(ctx context.Context, in *conversationInput) (*questionsOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.place(ctx))
	if err != nil {
		return nil, err
	}
	list, _, err := s.asks(ctx, in.place(ctx), state)
	return &questionsOutput{Body: Page[Question]{Items: list}}, err
}

func (s *Server) approval(ctx context.Context, in *approvalInput) (*approvalOutput, error) {
	out, err := s.findApproval(ctx, in.place(ctx), in.Approval)
	return &approvalOutput{Body: out}, err
}

func (s *Server) findApproval(ctx context.Context, ref journal.Ref, id string) (Approval, error) {
	agent, call, err := wanted(id)
	if err != nil {
		return Approval{}, err
	}
	state, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return Approval{}, err
	}
	i := slices.IndexFunc(state.Approvals, func(a journal.Approval) bool { return a.Agent == agent && a.Call == call })
	if i < 0 {
		return Approval{}, journal.NotFound()
	}
	out := approvalOf(state.Approvals[i])
	in := journal.In{Agent: agent}
	entries, err := s.options.Log.Find(ctx, ref, journal.ApprovalRequested{In: in, Call: call}.Key(), journal.ApprovalDecided{In: in, Call: call}.Key())
	if err != nil {
		return Approval{}, err
	}
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.ApprovalRequested:
			out.Show, out.Pattern, out.Sources = r.Show, r.Pattern, sourcesOf(r.Sources)
		case journal.ApprovalDecided:
			out.Args = object(r.Args)
		default: // nothing else was asked for
		}
	}
	return out, nil
}

// scopes are how far an approval goes, by the words of the API.
var scopes = map[string]string{"": "once", "once": "once", "task": "task", "conversation": "chat"}

func (s *Server) decide(ctx context.Context, in *decideInput) (*approvalOutput, error) {
	ref := in.place(ctx)
	wanted, err := s.findApproval(ctx, ref, in.Approval)
	if err != nil {
		return nil, err
	}
	if in.Body.Hash != wanted.Hash {
		return nil, &Problem{Code: "conflict", Detail: "what is to be approved is not what was shown"}
	}
	d := journal.ApprovalDecided{
		In: journal.In{Agent: wanted.Agent, Task: wanted.Task}, Call: wanted.Call, Hash: wanted.Hash, Allow: in.Body.Allow,
		By: callerOf(ctx).Name, Reason: in.Body.Note,
	}
	if d.Allow {
		d.Scope = scopes[in.Body.Scope]
		if d.Scope != scopes["once"] && wanted.Pattern == "" {
			return nil, &Problem{Code: "invalid", Detail: "each call like this must be looked at: it can be allowed once only", Next: "send scope once"}
		}
		if err := s.secondPair(ctx, ref); err != nil {
			return nil, err
		}
	}
	if in.Body.Args != nil {
		if d.Args, err = edited(d, in.Body.Args); err != nil {
			return nil, err
		}
	}
	if err := s.options.Commands.Decide(ctx, ref, d); err != nil {
		return nil, editable(d, err)
	}
	after, err := s.findApproval(ctx, ref, in.Approval)
	return &approvalOutput{Body: after}, err
}

// edited is the text of other arguments, if they can be decided so.
func edited(d journal.ApprovalDecided, args map[string]json.RawMessage) (string, error) {
	text, err := json.Marshal(args)
	switch {
	case err != nil:
		return "", err
	case !d.Allow:
		return "", &Problem{Code: "invalid", Detail: "a call that is denied has no arguments", Next: "leave args out, or allow the call"}
	case d.Scope != scopes["once"]:
		return "", &Problem{
			Code: "invalid", Detail: "other arguments can be allowed once only", Next: "send scope once, or leave args out",
		}
	}
	return string(text), tooLong("the text of args", string(text), maxArgs)
}

// editable says what to do about arguments that cannot be used. The call still waits.
func editable(d journal.ApprovalDecided, err error) error {
	if p := problemOf(err); d.Args != "" && p.Code == "invalid" {
		p.Next = "correct args and send it again with a new key, or decide without them: the call still waits"
		return p
	}
	return err
}
