package leg

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
)

// sideOutput is the most that a side turn may write.
const sideOutput = 1024

// sideCall names the model call of a side turn.
func sideCall(side int) string { return fmt.Sprintf("side.%d", side) }

func (l *leg) prepareSide(ctx context.Context, e agent.CallSide) ([]journal.Row, func(), error) {
	req, err := l.sideRequest(ctx, e)
	if err != nil && !host.Refused(err) {
		return nil, nil, err
	}
	if err != nil {
		l.Logger.ErrorContext(ctx, "cannot make a side turn", "agent", l.in.Agent, "side", e.Side, "error", err)
		return nil, l.end(e, l.sideEnd(e, model.Reply{}, chat.Usage{})), nil
	}
	prompt, err := l.keepPrompt(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	kind := journal.RequestResolution
	if e.Kind == agent.SideRoute {
		kind = journal.RequestRouting
	}
	// The name has no attempt: the reader of the answer knows the side turn only.
	row := journal.ModelCalled{
		In: l.in.In(), Call: sideCall(e.Side), Type: kind, Model: req.Model, Prompt: prompt,
		HoldTokens: e.HoldTokens, HoldCost: e.HoldCost,
	}
	left := e.HoldCost
	if !l.cede(left) {
		left = 0 // the budget refuses the call, and that is on record
	}
	pays := l.newCallBudget(e, left)
	req.Budget, req.Before = pays, l.counted()
	return []journal.Row{row}, l.launch(ctx, e, func(ctx context.Context) completion {
		reply, responded, _ := l.generate(ctx, req, row.Call, "")
		responded = pays.on(responded)
		responded.Parts = reply.Parts
		return pays.charge(completion{event: l.sideEnd(e, reply, responded.Usage), rows: []journal.Row{responded}})
	}), nil
}

// sideRequest asks about the transcript as it is, without adding to it.
func (l *leg) sideRequest(ctx context.Context, e agent.CallSide) (model.Request, error) {
	brief := l.position.State.Brief
	script, err := l.prompt(ctx, brief)
	if err != nil {
		return model.Request{}, err
	}
	messages, err := l.cache.transcript(ctx)
	if err != nil {
		return model.Request{}, err
	}
	text, err := l.sideText(ctx, e)
	if err != nil {
		return model.Request{}, err
	}
	messages = append(answered(messages), chat.Message{
		ID: "side", Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: text}},
	})
	transcript, images, err := l.illustrate(ctx, chat.Join(messages))
	if err != nil {
		return model.Request{}, err
	}
	req := model.Request{
		Model: brief.Model.Name, System: script.System, Transcript: transcript, Images: images, Turn: 0,
		MaxOutput: min(sideOutput, max(brief.Model.MaxOutput, 1)), Effort: script.Effort, Caller: l.caller(),
	}
	if e.Kind == agent.SideResolve {
		req.Tools = offerOwn([]string{toolRelay, agent.ToolReply})
	}
	return req, nil
}

// answered is a transcript without the calls that still wait for their results.
func answered(messages []chat.Message) []chat.Message {
	out := slices.Clone(messages)
	for len(out) > 0 {
		last := out[len(out)-1]
		if last.Speaker != chat.Assistant {
			break
		}
		open := slices.ContainsFunc(last.Parts, func(p chat.Part) bool { return p.Kind == chat.PartToolUse })
		if !open {
			break
		}
		out = out[:len(out)-1]
	}
	return out
}

// sideText is what a side turn is about.
func (l *leg) sideText(ctx context.Context, e agent.CallSide) (string, error) {
	if e.Kind == agent.SideResolve {
		open, err := l.openQuestions(ctx, []string{e.Question})
		if err != nil {
			return "", err
		}
		return l.Catalog.Resolution(open[0])
	}
	open, err := l.openQuestions(ctx, e.Questions)
	if err != nil {
		return "", err
	}
	said, err := l.cache.said(ctx, e.Seq)
	if err != nil {
		return "", err
	}
	return l.Catalog.Routing(journal.Words(said), open)
}

// openQuestions reads open questions, in the order given.
func (l *leg) openQuestions(ctx context.Context, questions []string) ([]host.OpenQuestion, error) {
	var keys []string
	for _, q := range questions {
		keys = append(keys, journal.QuestionAsked{Question: q}.Key(), journal.TaskAssigned{In: journal.In{Task: asker(q)}}.Key())
	}
	rows, err := l.cache.look(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var out []host.OpenQuestion
	for _, q := range questions {
		a, _ := rows[journal.QuestionAsked{Question: q}.Key()].(journal.QuestionAsked)
		who, _ := rows[journal.TaskAssigned{In: journal.In{Task: asker(q)}}.Key()].(journal.TaskAssigned)
		out = append(out, host.OpenQuestion{ID: q, Role: who.Role, Task: who.Instruction, Text: a.Text, Options: a.Options})
	}
	return out, nil
}

// sideEnd reads the result of a side turn. A reply that cannot be read leaves it to the person.
func (l *leg) sideEnd(e agent.CallSide, reply model.Reply, used chat.Usage) agent.Event {
	if e.Kind == agent.SideRoute {
		out := agent.Routed{At: l.At(), Side: e.Side, Route: agent.RouteRequest, Usage: used}
		var route struct {
			Route     agent.Route `json:"route"`
			Questions []string    `json:"questions"`
		}
		if json.Unmarshal([]byte(braces(journal.Words(reply.Parts))), &route) != nil {
			return out
		}
		switch route.Route {
		case agent.RouteAnswer, agent.RouteDecline, agent.RouteStop, agent.RouteUnclear, agent.RouteRequest:
			out.Route, out.Questions = route.Route, route.Questions
		}
		if len(out.Questions) == 0 && (out.Route == agent.RouteAnswer || out.Route == agent.RouteDecline) && len(e.Questions) == 1 {
			out.Questions = e.Questions
		}
		return out
	}
	out := agent.Resolved{At: l.At(), Side: e.Side, Usage: used}
	for _, p := range reply.Parts {
		if p.Kind != chat.PartToolUse || p.Tool != agent.ToolReply {
			continue
		}
		if c := agent.Digest(p.Tool, p.Args); c.Problem == "" && c.Question == e.Question {
			out.Answered, out.Confidence = true, c.Confidence
		}
	}
	return out
}

// braces is the JSON object in a text, if there is one.
func braces(text string) string {
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return text
	}
	return text[from : to+1]
}
