package agent

import (
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// sureEnough is the confidence, in percent, from which the orchestrator answers for the person.
	sureEnough = 70
	// answersKept bounds how many answers an orchestrator remembers.
	answersKept = 12
	// sideOutput is the most that a side turn may write.
	sideOutput = 1024
	// sidesKept is how many side turns may be in flight; questions beyond it wait for one to end.
	sidesKept = 8
)

// Question is an open question of an agent somewhere below the orchestrator.
type Question struct {
	// ID is the asking agent, a # and the call that asks.
	ID   string `json:"id"`
	Hash string `json:"h"`
	// Relayed means that the person has been asked, Resolving that a side turn looks for the
	// answer.
	Relayed   bool `json:"r,omitempty"`
	Resolving bool `json:"v,omitempty"`
}

// asker is the agent that asks a question.
func asker(question string) string { return string(chat.ParseCallRef(question).Agent) }

// Answer is an answer that an orchestrator has sent.
type Answer struct {
	Question string   `json:"q"`
	Hash     string   `json:"h"`
	By       AnswerBy `json:"by"`
	// Seq is the person's message that went to the agent, Tokens its size, Lost that it found
	// nobody.
	Seq    int64 `json:"s,omitempty"`
	Tokens int64 `json:"t,omitempty"`
	Lost   bool  `json:"l,omitempty"`
}

// Asker is an agent that has asked, and the turn of its last question.
type Asker struct {
	Agent string `json:"a"`
	Turn  int    `json:"n"`
}

// Side is a side turn in flight.
type Side struct {
	ID         int      `json:"id"`
	Kind       SideKind `json:"k"`
	Question   string   `json:"q,omitempty"`
	Seq        int64    `json:"s,omitempty"`
	HoldTokens int64    `json:"t,omitempty"`
	HoldCost   int64    `json:"c,omitempty"`
}

// questionAsked starts the ladder: earlier answers, then the orchestrator, then the person.
func (m *machine) questionAsked(e QuestionAsked) error {
	s := m.s
	switch {
	case !s.orchestrator():
		return m.refuse(Invalid, "a sub-agent answers no questions")
	case questionTurn(e.Question) == 0:
		return m.refuse(Invalid, "%q is no question", e.Question)
	case !m.goesOn(asker(e.Question)):
		return m.refuse(Late, "agent %s is not open", asker(e.Question))
	case !m.newQuestion(e):
		return m.refuse(Duplicate, "question %s is known", e.Question)
	}
	q := Question{ID: e.Question, Hash: e.Hash}
	s.Questions = append(s.Questions, q)
	if e.Relay {
		m.relay(q.ID)
		return nil
	}
	for _, a := range slices.Backward(s.Answers) {
		if a.Hash == q.Hash && a.By != ByNobody && a.By != ByDecliner && !a.Lost {
			m.reply(Reply{Question: q.ID, By: ByEarlier, Earlier: a.Question}, 0)
			return nil
		}
	}
	m.resolveNext()
	return nil
}

// resolveNext looks for answers to the oldest questions, in so many side turns as may be in flight.
// A question for which there is no money goes to the person.
func (m *machine) resolveNext() {
	var unaffordable []string
	for i := range m.s.Questions {
		q := &m.s.Questions[i]
		if q.Relayed || q.Resolving || len(m.s.Sides) >= sidesKept || m.s.Phase == Stopping {
			continue
		}
		if q.Resolving = m.callSide(CallSide{Kind: SideResolve, Question: q.ID}); !q.Resolving {
			unaffordable = append(unaffordable, q.ID)
		}
	}
	for _, id := range unaffordable {
		m.relay(id)
	}
}

// goesOn reports whether an open child of the orchestrator that has not been told to stop is the
// agent or one of its ancestors.
func (m *machine) goesOn(agent string) bool {
	for i := range m.s.Children {
		if c := m.s.Children[i]; c.Stop == "" && below(agent, m.s.childAgent(c)) {
			return true
		}
	}
	return false
}

// questionTurn is the turn that asked a question, zero if its id has none.
func questionTurn(question string) int {
	return chat.ParseCallRef(question).Call.Turn()
}

// newQuestion reports whether an agent asks this for the first time. Its questions are numbered by
// its turns.
func (m *machine) newQuestion(e QuestionAsked) bool {
	s := m.s
	turn := questionTurn(e.Question)
	i := slices.IndexFunc(s.Askers, func(a Asker) bool { return a.Agent == asker(e.Question) })
	switch {
	case i < 0:
		s.Askers = append(s.Askers, Asker{Agent: asker(e.Question), Turn: turn})
	case turn <= s.Askers[i].Turn:
		return false
	default:
		s.Askers[i].Turn = turn
	}
	return true
}

func below(agent, ancestor string) bool {
	return agent == ancestor || chat.AgentPath(agent).IsBelow(chat.AgentPath(ancestor))
}

func (m *machine) openQuestion(id string) *Question {
	for i := range m.s.Questions {
		if m.s.Questions[i].ID == id {
			return &m.s.Questions[i]
		}
	}
	return nil
}

func (m *machine) givenAnswer(id string) *Answer {
	for i := range m.s.Answers {
		if m.s.Answers[i].Question == id {
			return &m.s.Answers[i]
		}
	}
	return nil
}

// relay shows a question to the person, or declines it in a headless run.
func (m *machine) relay(id string) {
	q := m.openQuestion(id)
	if m.s.Brief.Headless {
		m.reply(Reply{Question: id, By: ByNobody}, 0)
		return
	}
	q.Relayed = true
	m.record(Relay{Question: id, Agent: asker(id)})
}

// reply sends the first answer to an open question and closes it.
func (m *machine) reply(r Reply, tokens int64) {
	s := m.s
	q := *m.openQuestion(r.Question)
	r.Agent = asker(q.ID)
	s.Questions = emptyToNil(slices.DeleteFunc(s.Questions, func(o Question) bool { return o.ID == q.ID }))
	if len(s.Answers) >= answersKept {
		// A person's words may still come back undelivered; words that nobody said cannot.
		i := max(0, slices.IndexFunc(s.Answers, func(a Answer) bool { return a.Seq == 0 }))
		s.Answers = slices.Delete(s.Answers, i, i+1)
	}
	s.Answers = append(s.Answers, Answer{
		Question: q.ID, Hash: q.Hash, By: r.By, Seq: r.Seq, Tokens: tokens,
	})
	m.record(CloseQuestion{Question: q.ID, By: r.By})
	switch r.By {
	case ByUser, ByDecliner:
		m.record(Note{Serial: m.serial(), Kind: NoteForwarded, Question: q.ID, Seq: r.Seq})
	case ByOrchestrator, ByEarlier:
		r.Taint = s.Taint
		m.record(Note{Serial: m.serial(), Kind: NoteAutoAnswered, Question: q.ID})
	case ByNobody:
	}
	m.order(r)
}

// questionWithdrawn forgets a question that nobody waits for any more.
func (m *machine) questionWithdrawn(e QuestionWithdrawn) error {
	if m.openQuestion(e.Question) == nil {
		return m.refuse(Late, "question %s is not open", e.Question)
	}
	m.dropQuestions(func(q Question) bool { return q.ID == e.Question })
	return nil
}

// dropQuestions closes questions that ended without an answer.
func (m *machine) dropQuestions(gone func(Question) bool) {
	for _, q := range m.s.Questions {
		if gone(q) {
			m.record(CloseQuestion{Question: q.ID})
		}
	}
	m.s.Questions = emptyToNil(slices.DeleteFunc(m.s.Questions, gone))
	m.routeNext()
}

// callSide starts a side turn if the leases allow it. It touches neither the round nor the
// transcript.
func (m *machine) callSide(c CallSide) bool {
	tokens, cost, ok := m.holdFor(min(sideOutput, m.s.Brief.Model.MaxOutput))
	if !ok {
		return false
	}
	c.Side, c.HoldTokens, c.HoldCost = m.serial(), tokens, cost
	m.s.Sides = append(m.s.Sides, Side{
		ID: c.Side, Kind: c.Kind, Question: c.Question, Seq: c.Seq, HoldTokens: tokens, HoldCost: cost,
	})
	m.order(c)
	return true
}

// endSide settles a side turn and returns it. A side turn that gave a result and does not report
// its use has used its whole reservation.
func (m *machine) endSide(id int, kind SideKind, used chat.Usage, gave bool) (Side, error) {
	s := m.s
	i := slices.IndexFunc(s.Sides, func(o Side) bool { return o.ID == id && o.Kind == kind })
	if i < 0 {
		if id <= 0 || id > s.Serial {
			return Side{}, m.refuse(Unknown, "no side turn %d", id)
		}
		return Side{}, m.refuse(Late, "side turn %d is over", id)
	}
	side := s.Sides[i]
	s.Sides = emptyToNil(slices.Delete(s.Sides, i, i+1))
	if gave && used.Tokens() == 0 {
		s.Tokens.settle(side.HoldTokens, side.HoldTokens)
		s.Cost.settle(side.HoldCost, side.HoldCost)
	} else {
		s.Tokens.settle(side.HoldTokens, used.Tokens())
		s.Cost.settle(side.HoldCost, used.Cost)
	}
	m.spend(used)
	return side, nil
}

// resolved answers from context if the orchestrator is sure enough, and asks the person otherwise.
func (m *machine) resolved(e Resolved) error {
	side, err := m.endSide(e.Side, SideResolve, e.Usage, e.Answered)
	if err != nil {
		return err
	}
	q := m.openQuestion(side.Question)
	switch {
	case q == nil || q.Relayed:
	case e.Answered && e.Confidence >= sureEnough:
		m.reply(Reply{Question: q.ID, By: ByOrchestrator, Side: side.ID}, 0)
	case m.goesOn(asker(q.ID)):
		m.relay(q.ID)
	}
	m.resolveNext()
	return nil
}

// replyFromTurn is reply_to_agent in the orchestrator's own turn.
func (m *machine) replyFromTurn(open *OpenCall, c Call) {
	q := m.openQuestion(c.Question)
	switch {
	case q == nil:
		m.settleFailed(open, fmt.Sprintf(textNoQuestion, c.Question))
	case c.Confidence >= sureEnough:
		m.reply(Reply{Question: q.ID, By: ByOrchestrator, Call: open.ID}, 0)
		m.settle(open, CallCompleted, textForwarded)
	case q.Relayed:
		m.settleFailed(open, textAlreadyRelayed)
	default:
		m.relay(q.ID)
		m.settle(open, CallCompleted, textRelayed)
	}
}
