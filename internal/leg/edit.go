package leg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// ReviewInput names arguments that a person would give a call: those on record as Proposed.
type ReviewInput struct {
	host.RunRef
	Call string `json:"call"`
	Edit string `json:"edit"`
}

// Reviewed names the text in the journal that holds the verdict on a person's arguments. The engine
// sees only this name.
type Reviewed struct {
	Text string `json:"text"`
}

// Verdict describes the call with a person's arguments to the core, or says why they cannot be
// used.
type Verdict struct {
	Call    agent.Call `json:"call"`
	Code    chat.Code  `json:"code,omitempty"`
	Problem string     `json:"problem,omitempty"`
}

// permit gathers what says whether a call may run.
func (l *leg) permit(ctx context.Context, run agent.RunTool) (host.Permit, error) {
	p := host.Permit{RunRef: l.in.RunRef, Run: run}
	err := l.Patiently(ctx, func() (err error) {
		if p.Part, err = l.called(ctx, run); err != nil {
			return err
		}
		task, err := l.cache.assignment(ctx)
		if err != nil {
			return err
		}
		return json.Unmarshal(task.Brief, &p.Brief)
	})
	return p, err
}

// Verdict reads the result of a review.
func (r Reviewed) Verdict(ctx context.Context, log journal.Reader, ref journal.Ref) (out Verdict, err error) {
	text, err := log.Text(ctx, ref, r.Text)
	if err != nil {
		return out, fmt.Errorf("read the verdict on arguments: %w", err)
	}
	return out, json.Unmarshal([]byte(text), &out)
}

// Review looks at arguments as at those of a call that a model makes, and keeps the verdict in the
// journal.
func (c *Carrier) Review(ctx context.Context, in ReviewInput) (Reviewed, error) {
	verdict, err := c.judge(ctx, in)
	if err != nil {
		return Reviewed{}, err
	}
	body, err := json.Marshal(verdict)
	if err != nil {
		return Reviewed{}, err
	}
	text, err := c.Keep(ctx, in.Ref, string(body))
	return Reviewed{Text: text}, err
}

func (c *Carrier) judge(ctx context.Context, in ReviewInput) (Verdict, error) {
	if err := c.Known(in.RunRef); err != nil {
		return Verdict{}, err
	}
	l := c.newLeg(Input{RunRef: in.RunRef})
	p, err := l.permit(ctx, agent.RunTool{Call: in.Call})
	if err != nil {
		return Verdict{}, err
	}
	own := agent.Digest(p.Part.Tool, p.Part.Args)
	proposed, err := find[journal.EditProposed](ctx, l, journal.EditProposed{In: in.In(), Call: in.Call, Edit: in.Edit}.Key())
	if err != nil {
		return Verdict{}, err
	}
	p.Part.Args = proposed.Args
	p.Tree = host.TreeName(p.Ref, p.Brief.Tree)
	out := Verdict{Call: agent.Digest(p.Part.Tool, p.Part.Args)}
	problem, err := l.weigh(ctx, p, &out.Call)
	switch {
	case err != nil:
		return Verdict{}, err
	case problem != nil:
		return Verdict{Code: problem.Code, Problem: problem.Message}, nil
	case out.Call.Hash == own.Hash:
		return Verdict{Code: chat.CodeInvalid, Problem: "these are the agent's own arguments: allow the call without any"}, nil
	}
	return out, nil
}

// weigh completes the core's description of a call with a person's arguments, and returns their
// faults for the person to correct.
func (l *leg) weigh(ctx context.Context, p host.Permit, c *agent.Call) (*chat.Error, error) {
	set, err := l.Describing(p.RunRef)
	if err != nil {
		return nil, err
	}
	if c.Kind != agent.CallTool || p.Part.Tool == agent.ToolTranscript || p.Part.Tool == agent.ToolMerge {
		return &chat.Error{Code: chat.CodeInvalid, Message: "the arguments of " + p.Part.Tool + " cannot be changed: allow or deny the unchanged call"}, nil
	}
	call := l.ToolCall(ctx, p.RunRef, p.Part)
	l.characterise(ctx, p.Brief, set, call, c)
	switch {
	case !c.Known:
		return &chat.Error{Code: chat.CodeConflict, Message: "there is no tool " + p.Part.Tool + " any more: deny the call"}, nil
	case c.Problem != "":
		return &chat.Error{Code: chat.CodeInvalid, Message: c.Problem}, nil
	case c.Policy == agent.PolicyDeny || !p.Brief.Permits(c.Tool, c.Writes, c.Network):
		return &chat.Error{
			Code: chat.CodeConflict, Message: "the agent's rules deny " + c.Tool + " with these arguments: change them, or deny the call",
		}, nil
	}
	var refusal *chat.Error
	if _, err := set.Binding(ctx, call); errors.As(err, &refusal) {
		return &chat.Error{Code: chat.CodeInvalid, Message: refusal.Message}, nil // the tool would not do it
	}
	c.Pattern = "" // they are allowed once
	c.Bound, err = l.bindTo(ctx, p.Brief, set, c.Tool, call)
	return nil, err
}

// called finds a call with its final arguments: the model's, or those of the person's decision.
// authorise checks whether they are the allowed ones.
func (l *leg) called(ctx context.Context, run agent.RunTool) (chat.Part, error) {
	part, err := l.cache.call(ctx, l.in.Agent, run.Call)
	if err != nil || !run.Edited {
		return part, err
	}
	part.Args, err = l.given(ctx, run.Call)
	return part, err
}

// given are the arguments that a person gave a call.
func (l *leg) given(ctx context.Context, call string) (string, error) {
	d, err := find[journal.ApprovalDecided](ctx, l, journal.ApprovalDecided{In: l.in.In(), Call: call}.Key())
	return d.Args, err
}
