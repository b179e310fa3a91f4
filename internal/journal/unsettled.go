package journal

// Unsettled lists only the waiting items of a conversation, for a person or for the engine. The
// fold stays small even if the list is long.
type Unsettled struct {
	asked, waiting map[string]bool
}

// NewUnsettled returns that of an empty list.
func NewUnsettled() *Unsettled {
	return &Unsettled{asked: map[string]bool{}, waiting: map[string]bool{}}
}

// Apply folds one row.
func (u *Unsettled) Apply(row Row) {
	switch r := row.(type) {
	case MailPosted:
		u.waiting[r.Key()] = true
	case MailDelivered:
		delete(u.waiting, MailPosted{ID: r.ID}.Key())
	case QuestionAsked:
		u.asked[r.Question] = true
	case QuestionRelayed:
		if u.asked[r.Question] {
			delete(u.asked, r.Question)
			u.waiting[QuestionAsked{Question: r.Question}.Key()] = true
		}
	case QuestionAnswered:
		delete(u.asked, r.Question)
		delete(u.waiting, QuestionAsked{Question: r.Question}.Key())
	case ApprovalRequested:
		u.waiting[r.Key()] = true
	case ApprovalDecided:
		delete(u.waiting, ApprovalRequested{In: r.In, Call: r.Call}.Key())
	case ApprovalClosed:
		delete(u.waiting, ApprovalRequested{In: r.In, Call: r.Call}.Key())
	default: // nobody waits for it
	}
}

// Any reports whether something waits.
func (u *Unsettled) Any() bool { return len(u.waiting) > 0 }
