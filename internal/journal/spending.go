package journal

import "time"

// MonthOf is the month that a budget counts a moment in, in UTC: 2026-11.
func MonthOf(at time.Time) string { return at.UTC().Format("2006-01") }

// Settles is by how much what a tenant spent in a month changes when a model call ends: what it
// cost, instead of what was reserved. A call of which nobody knows what it used has used what was
// reserved, and an imported one was paid elsewhere.
func (r ModelReplied) Settles(conversation string) (change int64, ok bool) {
	if r.Reserved == 0 || r.Unmetered || Imported(conversation) {
		return 0, false
	}
	return r.Usage.Cost - r.Reserved, true
}
