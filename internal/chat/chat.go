// Package chat is the vocabulary that every other package shares: messages and their parts, calls
// and their effect classes, usage, statuses, error kinds and the rules a transcript must keep.
//
// It is pure data and pure functions. It imports nothing of ours, does no IO, reads no clock and
// draws no random number, so that the core, the adapters, the API and the clients can all speak it.
package chat

// EffectClass says whether a tool call may be repeated when nobody knows if it happened.
type EffectClass string

// The effect classes. An unknown tool is ClassOnce.
const (
	// ClassPure only reads: it may be run again at will.
	ClassPure EffectClass = "pure"
	// ClassIdempotent may be run again under the same call id.
	ClassIdempotent EffectClass = "idempotent"
	// ClassReconcilable has a probe that tells whether a call id already happened.
	ClassReconcilable EffectClass = "reconcilable"
	// ClassOnce is never run again: an unknown end is reported as indeterminate.
	ClassOnce EffectClass = "once"
)

// Repeatable reports whether a call of this class may simply be run again after a crash.
func (c EffectClass) Repeatable() bool { return c == ClassPure || c == ClassIdempotent }

// Usage counts what model calls consumed. Input includes tokens read from or written to a cache.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	// Cost is in millionths of a US dollar.
	Cost int64 `json:"cost,omitempty"`
	// Unpriced counts calls whose price is unknown, so that an unknown cost never reads as zero.
	Unpriced int64 `json:"unpriced,omitempty"`
}

// Tokens is the charge on a token budget.
func (u Usage) Tokens() int64 { return u.Input + u.Output }

// Plus adds two usages field by field.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
		Cost:       u.Cost + v.Cost,
		Unpriced:   u.Unpriced + v.Unpriced,
	}
}
