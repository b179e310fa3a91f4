package progress

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Because is why a person is asked about a call whatever the rules say, in a sentence; empty if that is not so.
func Because(sources []journal.Source) string {
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

// person folds what is asked of a person, and its end.
func (t *Tree) person(row journal.Row) []Event {
	switch r := row.(type) {
	case journal.QuestionAsked:
		a := t.agent(r.Agent)
		a.Doing = "asks: " + r.Text
		t.asked[r.Question] = Pending{
			Question: r.Question, Agent: r.Agent, Task: r.Task, Role: a.Role, Text: r.Text, Options: r.Options,
		}
		return []Event{{
			Type: QuestionAsked, Agent: r.Agent, Role: a.Role, Question: r.Question, Text: r.Text, Options: r.Options,
		}}
	case journal.QuestionRelayed:
		asked := t.asked[r.Question]
		asked.Question = r.Question
		t.pending = append(t.pending, asked)
		return []Event{{
			Type: QuestionRelayed, Agent: asked.Agent, Role: asked.Role, Question: r.Question, Text: asked.Text,
			Options: asked.Options,
		}}
	case journal.QuestionAnswered:
		asked := t.asked[r.Question]
		delete(t.asked, r.Question)
		t.pending = slices.DeleteFunc(t.pending, func(p Pending) bool { return p.Question == r.Question })
		if t.number > 0 && r.Number == t.number {
			t.heard = true // the message was the answer, so no turn takes it up but the one that waits
		}
		if agent.AnswerBy(r.By) == agent.ByNobody {
			t.unattended++
		}
		return []Event{{
			Type: QuestionAnswered, Agent: asked.Agent, Role: asked.Role, Question: r.Question, Text: r.Text, By: r.By,
		}}
	case journal.ApprovalRequested:
		a := t.agent(r.Agent)
		show := Literal(r.Show)
		a.Doing = "wants approval of " + Brief(r.Tool, show)
		t.pending = append(t.pending, Pending{
			Call: r.Call, Hash: r.Hash, Agent: r.Agent, Task: r.Task, Role: a.Role, Tool: r.Tool, Text: show,
			Pattern: r.Pattern, Sources: r.Sources,
		})
		return []Event{{Type: ApprovalRequested, Agent: r.Agent, Role: a.Role, Call: r.Call, Tool: r.Tool, Args: json.RawMessage(show)}}
	case journal.ApprovalClosed:
		a := t.agent(r.Agent)
		t.pending = slices.DeleteFunc(t.pending, func(p Pending) bool {
			return p.Question == "" && p.Agent == r.Agent && p.Call == r.Call
		})
		kind := ApprovalResolved
		if agent.ApprovalStatus(r.Status) == agent.ApprovalExpired {
			kind = ApprovalExpired
			t.unattended++
		}
		return []Event{{Type: kind, Agent: r.Agent, Role: a.Role, Call: r.Call, Reason: r.Status, By: r.By}}
	default:
		return nil
	}
}
