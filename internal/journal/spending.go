package journal

import "time"

// MonthOf is the month that a budget counts a moment in, in UTC: 2026-11.
func MonthOf(at time.Time) string { return at.UTC().Format("2006-01") }

// Settles is the change of a tenant's spending in a month when a model call ends: its cost replaces
// the reservation. A call whose use is unknown costs its reservation, and an imported one was paid
// elsewhere.
func (r ModelReplied) Settles(conversation string) (change int64, ok bool) {
	if r.Reserved == 0 || r.Unmetered || Imported(conversation) {
		return 0, false
	}
	return r.Usage.Cost - r.Reserved, true
}
