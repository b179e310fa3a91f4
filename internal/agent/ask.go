package agent

import (
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

// sameAnswered is how often a person may answer the same question of one task.
const sameAnswered = 2

// AskedBefore remembers how often a question of this task was answered, and by whom.
type AskedBefore struct {
	Hash string `json:"h"`
	Auto int    `json:"a,omitempty"`
	User int    `json:"u,omitempty"`
}

// ask brings a question to the orchestrator. A question that an answer from context did not settle
// goes to the person; one that the person has answered twice ends the run.
func (m *machine) ask(open *OpenCall, c Call) {
	s := m.s
	before := m.askedBefore(c.Hash)
	s.Progress.Questions++
	if s.Progress.Questions > s.Brief.Limits.Questions || before.User >= sameAnswered {
		m.settle(open, CallFailed, textQuestionLimit)
		m.halt(chat.KindQuestionLimit, "")
		return
	}
	open.Status = CallAsking
	open.Until = m.now + s.Brief.Limits.QuestionTime
	m.order(Ask{
		Question: m.questionID(open), Call: open.ID, Hash: c.Hash, Until: open.Until,
		Relay: before.Auto+before.User > 0,
	})
}

func (m *machine) questionID(c *OpenCall) string { return chat.RefOf(m.s.Brief.Agent, c.ID).String() }

// askedBefore finds or makes the memory of a question.
func (m *machine) askedBefore(hash string) *AskedBefore {
	s := m.s
	i := slices.IndexFunc(s.Asked, func(a AskedBefore) bool { return a.Hash == hash })
	if i < 0 {
		i = len(s.Asked)
		s.Asked = append(s.Asked, AskedBefore{Hash: hash})
	}
	return &s.Asked[i]
}

// answered hands the answer to the call that asked.
func (m *machine) answered(e Answered) error {
	c := m.asking(e.Question)
	if c == nil {
		return m.refuse(Late, "question %s is not open", e.Question)
	}
	if !e.By.valid() {
		return m.refuse(Invalid, "unknown source of an answer %q", e.By)
	}
	m.s.Context += e.Tokens
	m.taint(e.Taint)
	before := m.askedBefore(c.Hash)
	switch e.By {
	case ByNobody:
		m.unanswered(c, textNobodyThere)
		return nil
	case ByDecliner:
		before.User++
		m.settle(c, CallFailed, textDeclined)
		return nil
	case ByUser:
		before.User++
	case ByEarlier, ByOrchestrator:
		before.Auto++
	}
	c.Status = CallCompleted
	c.Until = 0
	m.record(Settle{Call: c.ID, Status: CallCompleted, Question: e.Question})
	return nil
}

func (m *machine) asking(question string) *OpenCall {
	if m.s.Round == nil {
		return nil
	}
	for i := range m.s.Round.Calls {
		if c := &m.s.Round.Calls[i]; c.Status == CallAsking && m.questionID(c) == question {
			return c
		}
	}
	return nil
}

// unanswered lets the agent use its judgement, or ends its run if its role says so.
func (m *machine) unanswered(c *OpenCall, text string) {
	m.settle(c, CallFailed, text)
	if m.s.Brief.FailUnanswered {
		m.halt(chat.KindQuestionLimit, "unanswered")
	}
}
