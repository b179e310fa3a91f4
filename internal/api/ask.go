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

// InApproval names an approval of a conversation. Like all that others are made of it is exported:
// huma sees no parameters in what is not.
type InApproval struct {
	route.InConversation
	Approval string `path:"approval" minLength:"3" maxLength:"640"`
}

type (
	questionsOutput struct{ Body wire.Page[wire.Question] }
	approvalsOutput struct{ Body wire.Page[wire.Approval] }
	approvalOutput  struct{ Body wire.Approval }
	approvalInput   struct{ InApproval }
	decideInput     struct {
		InApproval
		route.Keyed
		Body wire.Decision
	}
)

func (s *Server) askRoutes() {
	const base = "/v1/conversations/{conversation}"
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "listApprovals", Method: http.MethodGet, Path: base + "/approvals",
		Summary: "What wanted or wants a person's approval", Tags: []string{"asks"},
	}, s.approvals)
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "getApproval", Method: http.MethodGet, Path: base + "/approvals/{approval}",
		Summary: "One approval with what the person is shown", Tags: []string{"asks"},
	}, s.approval)
	route.Add(s.table, admission.AccessCommand, huma.Operation{
		OperationID: "decideApproval", Method: http.MethodPost, Path: base + "/approvals/{approval}/decision",
		Summary: "Allow or deny a call, or allow it with other arguments", Tags: []string{"commands"},
	}, s.decide)
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "listQuestions", Method: http.MethodGet, Path: base + "/questions",
		Summary: "What agents wanted or want to know", Tags: []string{"asks"},
	}, s.questions)
}

// wanted is the key of the approval that an id names.
func wanted(id string) (agent, call string, err error) {
	ref, ok := chat.ParseCallAddress(id)
	if !ok {
		return "", "", journal.NotFound()
	}
	return string(ref.Agent), string(ref.Call), nil
}

// asks are the questions and approvals of a conversation. Those that wait have their content.
func (s *Server) asks(ctx context.Context, ref journal.Ref, state journal.Snapshot) ([]wire.Question, []wire.Approval, error) {
	var keys []string
	questions := route.Each(state.Questions, func(q journal.Question) wire.Question {
		if q.Status != journal.QuestionStatusClosed {
			keys = append(keys, journal.QuestionAsked{Question: q.ID}.Key())
		}
		return events.Question(q)
	})
	approvals := route.Each(state.Approvals, func(a journal.Approval) wire.Approval {
		if a.Status == journal.ApprovalStatusOpen {
			keys = append(keys, journal.ApprovalRequested{In: journal.In{Agent: a.Agent}, Call: a.Call}.Key())
		}
		return events.Approval(a)
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
					approvals[i].Show, approvals[i].Pattern, approvals[i].Sources = r.Show, r.Pattern, events.Sources(r.Sources)
				}
			}
		default: // nothing else was asked for
		}
	}
	return questions, approvals, nil
}

func (s *Server) approvals(ctx context.Context, in *conversationInput) (*approvalsOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.Place(ctx))
	if err != nil {
		return nil, err
	}
	_, list, err := s.asks(ctx, in.Place(ctx), state)
	return &approvalsOutput{Body: wire.Page[wire.Approval]{Items: list}}, err
}

func (s *Server) questions(ctx context.Context, in *conversationInput) (*questionsOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.Place(ctx))
	if err != nil {
		return nil, err
	}
	list, _, err := s.asks(ctx, in.Place(ctx), state)
	return &questionsOutput{Body: wire.Page[wire.Question]{Items: list}}, err
}

func (s *Server) approval(ctx context.Context, in *approvalInput) (*approvalOutput, error) {
	out, err := s.findApproval(ctx, in.Place(ctx), in.Approval)
	return &approvalOutput{Body: out}, err
}

func (s *Server) findApproval(ctx context.Context, ref journal.Ref, id string) (wire.Approval, error) {
	agent, call, err := wanted(id)
	if err != nil {
		return wire.Approval{}, err
	}
	state, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return wire.Approval{}, err
	}
	i := slices.IndexFunc(state.Approvals, func(a journal.Approval) bool { return a.Agent == agent && a.Call == call })
	if i < 0 {
		return wire.Approval{}, journal.NotFound()
	}
	out := events.Approval(state.Approvals[i])
	in := journal.In{Agent: agent}
	entries, err := s.options.Log.Find(ctx, ref, journal.ApprovalRequested{In: in, Call: call}.Key(), journal.ApprovalDecided{In: in, Call: call}.Key())
	if err != nil {
		return wire.Approval{}, err
	}
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.ApprovalRequested:
			out.Show, out.Pattern, out.Sources = r.Show, r.Pattern, events.Sources(r.Sources)
		case journal.ApprovalDecided:
			out.Args = events.Object(r.Args)
		default: // nothing else was asked for
		}
	}
	return out, nil
}

// scopes are how far an approval goes, by the words of the API.
var scopes = map[string]string{"": "once", "once": "once", "task": "task", "conversation": "chat"}

func (s *Server) decide(ctx context.Context, in *decideInput) (*approvalOutput, error) {
	ref := in.Place(ctx)
	wanted, err := s.findApproval(ctx, ref, in.Approval)
	if err != nil {
		return nil, err
	}
	if in.Body.Hash != wanted.Hash {
		return nil, &admission.Problem{Code: "conflict", Detail: "what is to be approved is not what was shown"}
	}
	d := journal.ApprovalDecided{
		In: journal.In{Agent: wanted.Agent, Task: wanted.Task}, Call: wanted.Call, Hash: wanted.Hash, Allow: in.Body.Allow,
		By: admission.CallerOf(ctx).Name, Reason: in.Body.Note,
	}
	if d.Allow {
		d.Scope = scopes[in.Body.Scope]
		if d.Scope != scopes["once"] && wanted.Pattern == "" {
			return nil, &admission.Problem{Code: "invalid", Detail: "each call like this must be looked at: it can be allowed once only", Next: "send scope once"}
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
		return "", &admission.Problem{Code: "invalid", Detail: "a call that is denied has no arguments", Next: "leave args out, or allow the call"}
	case d.Scope != scopes["once"]:
		return "", &admission.Problem{
			Code: "invalid", Detail: "other arguments can be allowed once only", Next: "send scope once, or leave args out",
		}
	}
	return string(text), tooLong("the text of args", string(text), maxArgs)
}

// editable says what to do about arguments that cannot be used. The call still waits.
func editable(d journal.ApprovalDecided, err error) error {
	if p := admission.ProblemOf(err); d.Args != "" && p.Code == "invalid" {
		p.Next = "correct args and send it again with a new key, or decide without them: the call still waits"
		return p
	}
	return err
}
