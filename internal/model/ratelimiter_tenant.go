package model

// tenants lets the tenants of a key take turns, and bounds how many requests one of them may have
// under way. So neither the backlog nor the long replies of one tenant keep the others waiting.
// Whose turn it is within a tenant, rank says.
type tenants struct {
	// most is how many requests of one tenant may be under way; zero means any number.
	most  int
	turn  int64
	known map[string]tenant
}

// tenant is what one has in the queue and under way, and when it last had a turn.
type tenant struct {
	waiting, busy int
	turn          int64
}

// first finds the request that goes next: of the tenants below their bound, the one whose last turn
// is longest ago. It is -1 if all waiting requests belong to tenants at their bound. The queue is
// in the order of ranks.
func (t *tenants) first(queue []*waiter) int {
	found, oldest := -1, int64(0)
	seen := make(map[string]bool, len(t.known))
	for i, w := range queue {
		name := w.caller.Tenant
		if seen[name] {
			continue
		}
		seen[name] = true
		of := t.known[name]
		if t.most > 0 && of.busy >= t.most {
			continue
		}
		if found < 0 || of.turn < oldest {
			found, oldest = i, of.turn
		}
		if len(seen) == len(t.known) {
			break
		}
	}
	return found
}

// count adds to what a tenant has waiting and under way. One that has neither any more is
// forgotten.
func (t *tenants) count(name string, waiting, busy int) {
	of := t.known[name]
	of.waiting += waiting
	of.busy += busy
	if busy > 0 {
		t.turn++
		of.turn = t.turn
	}
	if of.waiting == 0 && of.busy == 0 {
		delete(t.known, name)
		return
	}
	t.known[name] = of
}
