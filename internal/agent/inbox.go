package agent

import "slices"

// inboxSize is how many unread messages an agent holds; the journal holds the rest.
const inboxSize = 32

// Inbox holds the messages that the model has not been shown yet, by number.
type Inbox struct {
	// Heard is the number of the last message handled.
	Heard int64    `json:"heard,omitempty"`
	Queue []Unread `json:"queue,omitempty"`
	// Shown are messages that are in the transcript but have not been sent to a model yet.
	Shown []int64 `json:"shown,omitempty"`
}

// Unread is an unread message.
type Unread struct {
	Seq    int64       `json:"n"`
	Tokens int64       `json:"t,omitempty"`
	State  UnreadState `json:"s,omitempty"`
}

// UnreadState says whether a message may be shown to the model.
type UnreadState string

// The states of a message. Unsorted and Sorting may still turn out to be an answer to a question.
const (
	UnreadReady    UnreadState = ""
	UnreadUnsorted UnreadState = "unsorted"
	UnreadSorting  UnreadState = "sorting"
)

// said handles a person's message. It goes to the agent that it answers, or waits to be read.
func (m *machine) said(e Said) error {
	s := m.s
	switch {
	case !s.orchestrator():
		return m.refuse(Invalid, "people talk to the orchestrator only")
	case e.Seq <= s.Inbox.Heard:
		return m.refuse(Duplicate, "message %d has been taken in", e.Seq)
	case s.Closing:
		return m.refuse(Conflict, "the conversation is being closed")
	case e.Seq != s.Inbox.Heard+1:
		return m.refuse(Gap, "message %d comes after %d", e.Seq, s.Inbox.Heard+1)
	case len(s.Inbox.Queue) >= inboxSize:
		return m.refuse(Full, "%d messages are unread", len(s.Inbox.Queue))
	}
	s.Inbox.Heard = e.Seq
	message := Unread{Seq: e.Seq, Tokens: e.Tokens}
	switch {
	case e.InReplyTo != "":
		m.inReply(e, message)
	case m.anyRelayed():
		message.State = UnreadUnsorted
		s.Inbox.Queue = append(s.Inbox.Queue, message)
		m.routeNext()
	default:
		s.Inbox.Queue = append(s.Inbox.Queue, message)
	}
	return nil
}

// inReply is a message that names its question: no model decides about it.
func (m *machine) inReply(e Said, message Unread) {
	s := m.s
	if m.openQuestion(e.InReplyTo) != nil {
		by := ByUser
		if e.Decline {
			by = ByDecliner
		}
		m.reply(Reply{Question: e.InReplyTo, By: by, Seq: e.Seq}, e.Tokens)
		m.routeNext()
		return
	}
	a := m.givenAnswer(e.InReplyTo)
	if a != nil && (a.By == ByOrchestrator || a.By == ByEarlier) && m.goesOn(asker(a.Question)) {
		a.By, a.Seq, a.Tokens = ByUser, e.Seq, e.Tokens
		m.record(Note{Serial: m.serial(), Kind: NoteForwarded, Question: a.Question, Seq: e.Seq})
		m.order(Correct{Question: a.Question, Agent: asker(a.Question), Seq: e.Seq})
		return
	}
	m.tooLate(e.InReplyTo, e.Seq)
	s.Inbox.Queue = append(s.Inbox.Queue, message)
}

// tooLate tells a person why their words are an ordinary message now.
func (m *machine) tooLate(question string, seq int64) {
	kind := NoteClosed
	if m.givenAnswer(question) != nil {
		kind = NoteAlreadyAnswered
	}
	m.record(Note{Serial: m.serial(), Kind: kind, Question: question, Seq: seq})
}

func (m *machine) anyRelayed() bool {
	return slices.ContainsFunc(m.s.Questions, func(q Question) bool { return q.Relayed })
}

// routeNext has the oldest unsorted message sorted, one at a time so that messages keep their
// order. While the agent is stopping nothing is started.
func (m *machine) routeNext() {
	queue := m.s.Inbox.Queue
	if m.s.Phase == Stopping || m.s.Phase == Done {
		return
	}
	for i := range queue {
		switch queue[i].State {
		case UnreadReady:
			continue
		case UnreadSorting:
			return
		case UnreadUnsorted:
		}
		if m.anyRelayed() {
			if m.callSide(CallSide{Kind: SideRoute, Seq: queue[i].Seq, Questions: m.openQuestions()}) {
				queue[i].State = UnreadSorting
				return
			}
			m.record(Note{Serial: m.serial(), Kind: NoteKept, Seq: queue[i].Seq})
		}
		queue[i].State = UnreadReady
	}
}

// openQuestions lists every open question of the tree, oldest first.
func (m *machine) openQuestions() []string {
	var out []string
	for _, q := range m.s.Questions {
		out = append(out, q.ID)
	}
	return out
}

// routed handles the classification of a message. If in doubt it is an ordinary message.
func (m *machine) routed(e Routed) error {
	side, err := m.endSide(e.Side, SideRoute, e.Usage, e.Route != RouteRequest)
	if err != nil {
		return err
	}
	s := m.s
	i := slices.IndexFunc(s.Inbox.Queue, func(l Unread) bool { return l.Seq == side.Seq })
	message := s.Inbox.Queue[i]
	consumed := false
	switch e.Route {
	case RouteAnswer:
		consumed = m.answerAll(e.Questions, ByUser, message)
	case RouteDecline:
		consumed = m.answerAll(e.Questions, ByDecliner, message)
	case RouteStop:
		consumed = true
		m.cancelTurn()
	case RouteUnclear:
		consumed = true
		m.record(Note{Serial: m.serial(), Kind: NoteWhich, Seq: message.Seq})
	case RouteRequest:
		m.record(Note{Serial: m.serial(), Kind: NoteKept, Seq: message.Seq})
	}
	if consumed {
		s.Inbox.Queue = emptyToNil(slices.Delete(s.Inbox.Queue, i, i+1))
	} else {
		s.Inbox.Queue[i].State = UnreadReady
	}
	m.routeNext()
	return nil
}

// answerAll sends a message to every question it names that is open. If there is none it stays an
// ordinary message.
func (m *machine) answerAll(questions []string, by AnswerBy, message Unread) bool {
	sent := false
	for _, id := range questions {
		if m.openQuestion(id) != nil {
			m.reply(Reply{Question: id, By: by, Seq: message.Seq}, message.Tokens)
			sent = true
		}
	}
	switch {
	case sent:
	case len(questions) > 0:
		m.tooLate(questions[0], message.Seq)
	default:
		m.record(Note{Serial: m.serial(), Kind: NoteKept, Seq: message.Seq})
	}
	return sent
}

// undelivered gives a person's words back to the orchestrator when the agent they went to is gone.
func (m *machine) undelivered(e Undelivered) error {
	s := m.s
	i := slices.IndexFunc(s.Answers, func(a Answer) bool { return a.Seq == e.Seq && a.Seq != 0 && !a.Lost })
	if i < 0 {
		return m.refuse(Late, "message %d was not sent on", e.Seq)
	}
	s.Inbox.Queue = append(s.Inbox.Queue, Unread{Seq: e.Seq, Tokens: s.Answers[i].Tokens})
	for j := range s.Answers {
		if s.Answers[j].Seq == e.Seq {
			s.Answers[j].Lost = true
		}
	}
	return nil
}

// corrected keeps a person's correction for the sub-agent's next model call.
func (m *machine) corrected(e Corrected) error {
	s := m.s
	switch {
	case s.orchestrator():
		return m.refuse(Invalid, "an orchestrator is told, not corrected")
	case e.Seq <= s.Inbox.Heard:
		return m.refuse(Duplicate, "message %d has been taken in", e.Seq)
	case len(s.Inbox.Queue) >= inboxSize:
		return m.refuse(Full, "%d messages are unread", len(s.Inbox.Queue))
	}
	s.Inbox.Heard = e.Seq
	s.Inbox.Queue = append(s.Inbox.Queue, Unread{Seq: e.Seq, Tokens: e.Tokens})
	return nil
}

// takeUnread reads the messages at the head of the queue, up to the first that is not sorted yet.
func (m *machine) takeUnread() []int64 {
	s := m.s
	var out []int64
	for len(s.Inbox.Queue) > 0 && s.Inbox.Queue[0].State == UnreadReady {
		out = append(out, s.Inbox.Queue[0].Seq)
		s.Context += s.Inbox.Queue[0].Tokens
		s.Inbox.Queue = s.Inbox.Queue[1:]
	}
	s.Inbox.Queue = emptyToNil(s.Inbox.Queue)
	return out
}

// unreadTokens is the size of the messages that takeUnread would take.
func (m *machine) unreadTokens() int64 {
	sum := int64(0)
	for _, l := range m.s.Inbox.Queue {
		if l.State != UnreadReady {
			break
		}
		sum += l.Tokens
	}
	return sum
}

// hasWork reports whether an idle orchestrator has something to say to its model. Notices alone
// neither lift the cap of the user turn nor start one after the person has stopped everything.
func (m *machine) hasWork() bool {
	s := m.s
	if len(s.Inbox.Queue) > 0 && s.Inbox.Queue[0].State == UnreadReady {
		return true
	}
	return len(s.Notices) > 0 && !s.Muted && s.Progress.Iterations < s.Brief.Limits.Iterations
}

// beginTurn starts an orchestrator's turn. A person's message lifts the caps and guards of the turn
// before.
func (m *machine) beginTurn() {
	s := m.s
	messages := m.takeUnread()
	m.fresh(messages)
	s.InTurn, s.Muted = true, false
	s.Clock = Clock{}
	a := Append{Reads: messages}
	if len(s.Notices) > 0 {
		a.Cap = m.reportCap(len(s.Notices))
	}
	for _, n := range s.Notices {
		a.Notices = append(a.Notices, s.taskID(n.Task))
		s.Context += noteTokens + min(n.Tokens, a.Cap/tokenBytes)
	}
	s.Notices = nil
	m.append(a)
	m.think()
}

// fresh lifts the caps and guards of an orchestrator's turn when a person's message is read.
func (m *machine) fresh(messages []int64) {
	s := m.s
	if len(messages) == 0 || !s.orchestrator() {
		return
	}
	s.Progress = Progress{Last: s.Progress.Last}
	s.Agents.Spent = 0
	s.Clock = Clock{}
	s.Recent, s.Repeats, s.Failures, s.Denials = nil, nil, nil, nil
}
