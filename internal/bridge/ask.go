package bridge

import (
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// Ask is something that waits for a person, as programs read it.
type Ask struct {
	Kind     string   `json:"kind"`
	Question string   `json:"question,omitempty"`
	Approval string   `json:"approval,omitempty"`
	Hash     string   `json:"hash,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Agent    string   `json:"agent_path"`
	Role     string   `json:"role"`
	Text     string   `json:"text"`
	Options  []string `json:"options,omitempty"`
	// Decide is the address to which a decision is posted.
	Decide string `json:"decide,omitempty"`
}

// The kinds of asks.
const (
	AskQuestion = "question"
	AskApproval = "approval"
)

// Asks are the questions and approvals that a user turn waits for.
func (x *UserTurn) Asks(pending []progress.Pending) []Ask {
	out := make([]Ask, 0, len(pending))
	for _, p := range pending {
		a := Ask{
			Kind: AskQuestion, Question: p.Question, Agent: p.Agent, Role: p.Role, Text: p.Text, Options: p.Options, Tool: p.Tool,
			Hash: p.Hash,
		}
		if p.Question == "" {
			a.Kind, a.Approval = AskApproval, events.ApprovalID(p.Agent, p.Call)
			a.Decide = "/v1/conversations/" + x.Conversation + "/approvals/" + a.Approval + "/decision"
		}
		out = append(out, a)
	}
	return out
}

// Words ask a question or an approval of a person who sees only text.
func (a Ask) Words() string {
	if a.Kind == AskQuestion {
		text := a.Text
		for _, o := range a.Options {
			text += "\n- " + o
		}
		return text
	}
	return fmt.Sprintf("This waits for your approval: %s (asked for by %s).\n\n    %s %s\n\n"+
		"Nothing said here approves it. Decide it in Retinue, or post {\"allow\": true, \"hash\": %q} to %s.",
		a.Tool, a.Role, a.Tool, a.Text, a.Hash, a.Decide)
}

// AskWords are the words of several asks.
func AskWords(asks []Ask) string {
	words := make([]string, len(asks))
	for i, a := range asks {
		words[i] = a.Words()
	}
	return strings.Join(words, Between)
}

// Doing is a line about what agents do, for people who watch; empty if it is not worth one.
func Doing(e progress.Event) string {
	who := e.Role
	if e.Agent != "" && e.Role != e.Agent {
		who += " " + e.Agent
	}
	const width = 200
	switch e.Type { //nolint:exhaustive // of all else a client is told nothing in words
	case wire.AgentSpawned:
		return who + " is asked: " + progress.Short(e.Text, width)
	case wire.AgentCompleted:
		return who + " reports: " + progress.Short(e.Text, width)
	case wire.AgentFailed, wire.AgentCancelled:
		return who + " ended without a result: " + progress.Short(e.Message, width)
	case progress.ToolCalled:
		return who + ": " + progress.Brief(e.Tool, string(e.Args))
	case wire.AttemptFailed:
		return who + ": a model call failed (" + string(e.Kind) + ")"
	}
	return ""
}
