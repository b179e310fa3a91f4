package model

// takes passes deltas on and numbers the takes of a reply that may be begun again.
type takes struct {
	told         func(Delta)
	base, latest int
	spoken       bool
}

// tell passes a delta on.
func (t *takes) tell(d Delta) {
	if t.told == nil {
		return
	}
	d.Take += t.base
	t.latest, t.spoken = d.Take, true
	t.told(d)
}

// again begins the next take, if anything of this one was told.
func (t *takes) again() {
	if t.spoken {
		t.base, t.spoken = t.latest+1, false
	}
}
