package journal

// Unsettled is what waits in a conversation, for a person or for the engine, and nothing else of it: a fold that stays
// small however long the list is.
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
	case Posted:
		u.waiting[r.Key()] = true
	case Delivered:
		delete(u.waiting, Posted{ID: r.ID}.Key())
	case Asked:
		u.asked[r.Question] = true
	case Relayed:
		if u.asked[r.Question] {
			delete(u.asked, r.Question)
			u.waiting[Asked{Question: r.Question}.Key()] = true
		}
	case Answered:
		delete(u.asked, r.Question)
		delete(u.waiting, Asked{Question: r.Question}.Key())
	case Wanted:
		u.waiting[r.Key()] = true
	case Decided:
		delete(u.waiting, Wanted{In: r.In, Call: r.Call}.Key())
	case Closed:
		delete(u.waiting, Wanted{In: r.In, Call: r.Call}.Key())
	default: // nobody waits for it
	}
}

// Any reports whether something waits.
func (u *Unsettled) Any() bool { return len(u.waiting) > 0 }
