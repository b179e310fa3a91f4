package progress

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/wire"
)

// Because says in a sentence why a person is asked about a call despite the rules; empty if the
// rules decide.
func Because(sources []wire.Source) string {
	var read []string
	for _, s := range sources {
		name := Short(s.Name, 200)
		switch agent.SourceKind(s.Kind) {
		case agent.SourceMCP:
			name = "the MCP server " + name
		case agent.SourceAgent:
			name = "what agent " + name + " has read"
		case agent.SourceMore:
			name = "others"
		case agent.SourceWeb, agent.SourceFile:
		}
		read = append(read, name)
	}
	if len(read) == 0 {
		return ""
	}
	return "Asked because this agent has read " + strings.Join(read, ", ") + ". Rules do not apply."
}

// person folds the approvals and questions for a person, and their ends.
func (t *Tree) person(e wire.Event) []Event {
	switch d := e.Data.(type) {
	case wire.Question:
		a := t.agent(e.Agent)
		a.Doing = "asks: " + d.Text
		t.asked[d.ID] = Pending{Question: d.ID, Agent: e.Agent, Task: e.Task, Role: a.Role, Text: d.Text, Options: d.Options}
		return []Event{{Type: e.Type, Agent: e.Agent, Role: a.Role, Question: d.ID, Text: d.Text, Options: d.Options}}
	case wire.Relayed:
		asked := t.asked[d.Question]
		asked.Question = d.Question
		t.pending = append(t.pending, asked)
		return []Event{{
			Type: e.Type, Agent: asked.Agent, Role: asked.Role, Question: d.Question, Text: asked.Text, Options: asked.Options,
		}}
	case wire.Answered:
		return t.answered(e, d)
	case wire.Approval:
		a := t.agent(e.Agent)
		show := Literal(d.Show)
		a.Doing = "wants approval of " + Brief(d.Tool, show)
		t.pending = append(t.pending, Pending{
			Approval: d.ID, Call: d.Call, Hash: d.Hash, Agent: e.Agent, Task: e.Task, Role: a.Role, Tool: d.Tool, Text: show,
			Pattern: d.Pattern, Sources: d.Sources,
		})
		return []Event{{Type: e.Type, Agent: e.Agent, Role: a.Role, Call: d.Call, Tool: d.Tool, Args: json.RawMessage(show)}}
	case wire.Closed:
		a := t.agent(e.Agent)
		_, call, _ := strings.Cut(d.Approval, ":")
		t.pending = slices.DeleteFunc(t.pending, func(p Pending) bool { return p.Question == "" && p.Approval == d.Approval })
		if e.Type == wire.ApprovalExpired {
			t.unattended++
		}
		return []Event{{Type: e.Type, Agent: e.Agent, Role: a.Role, Call: call, Reason: d.Status, By: d.By}}
	}
	return nil
}

// answered folds the end of a question.
func (t *Tree) answered(e wire.Event, d wire.Answered) []Event {
	asked := t.asked[d.Question]
	delete(t.asked, d.Question)
	t.pending = slices.DeleteFunc(t.pending, func(p Pending) bool { return p.Question == d.Question })
	if t.number > 0 && d.Number == t.number {
		t.heard = true // the message was the answer, so no turn takes it up but the one that waits
	}
	if agent.AnswerBy(d.By) == agent.ByNobody {
		t.unattended++
	}
	return []Event{{
		Type: e.Type, Agent: asked.Agent, Role: asked.Role, Question: d.Question, Text: d.Text, By: d.By,
	}}
}
