package model

// attempts passes deltas on and numbers the attempts at a reply that may begin again.
type attempts struct {
	told         func(Delta)
	base, latest int
	spoken       bool
}

// tell passes a delta on.
func (t *attempts) tell(d Delta) {
	if t.told == nil {
		return
	}
	d.Attempt += t.base
	t.latest, t.spoken = d.Attempt, true
	t.told(d)
}

// again begins the next take, if anything of this one was told.
func (t *attempts) again() {
	if t.spoken {
		t.base, t.spoken = t.latest+1, false
	}
}
