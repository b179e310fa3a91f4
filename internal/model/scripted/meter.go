package scripted

import (
	"math"
	"sync"
	"time"
)

// Meter is the server's own account of its requests and their bill.
type Meter struct {
	// Requests counts attempts to generate, Answered those that got an answer, whether it arrived
	// or not, and Limited those that were turned away with 429.
	Requests int `json:"requests"`
	Answered int `json:"answered"`
	Refused  int `json:"refused"`
	Limited  int `json:"limited"`
	// Billed is what all answers cost, those that were lost on the way included.
	Billed Usage `json:"billed"`
	// Running is how many attempts are under way, and HighWater the most there ever were at once.
	Running   int `json:"running"`
	HighWater int `json:"high_water"`
	// Attempts are the latest, in the order in which they came.
	Attempts []Attempt `json:"attempts"`
}

// Attempt is one request to generate.
type Attempt struct {
	// ID is the name of the exchange as the provider would give it.
	ID       string   `json:"id"`
	Provider Provider `json:"provider"`
	// Key is the fingerprint of the API key.
	Key   string `json:"key"`
	Model string `json:"model"`
	Role  string `json:"role,omitempty"`
	Turn  int    `json:"turn"`
	Rule  string `json:"rule,omitempty"`
	Fault string `json:"fault,omitempty"`
	// Status is the HTTP status, zero while nothing was sent. Frames is how many pieces went out.
	Status int           `json:"status"`
	Frames int           `json:"frames"`
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took"`
	Billed Usage         `json:"billed"`
	// Message says why the request was refused.
	Message string `json:"message,omitempty"`
}

// keptAttempts is how many attempts a meter remembers one by one.
const keptAttempts = 100_000

// Fingerprint identifies an API key where the key itself must not be shown.
func Fingerprint(key string) string { return digest(key)[:12] }

// meter is a Meter that many may write to.
type meter struct {
	mu  sync.Mutex
	sum Meter
	all []*Attempt
}

func (m *meter) begin(a *Attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.Requests++
	m.sum.Running++
	m.sum.HighWater = max(m.sum.HighWater, m.sum.Running)
	if len(m.all) == keptAttempts {
		m.all = m.all[keptAttempts/2:]
	}
	m.all = append(m.all, a)
}

// update changes an attempt under the meter's lock.
func (m *meter) update(a *Attempt, change func(*Attempt)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(a)
}

// bill adds the cost of an answer before any of it is sent: an answer lost on the way is paid for.
func (m *meter) bill(a *Attempt, u Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a.Billed = u
	m.sum.Answered++
	m.sum.Billed = Usage{
		Input: m.sum.Billed.Input + u.Input, Output: m.sum.Billed.Output + u.Output,
		CacheRead:  m.sum.Billed.CacheRead + u.CacheRead,
		CacheWrite: m.sum.Billed.CacheWrite + u.CacheWrite,
		Reasoning:  m.sum.Billed.Reasoning + u.Reasoning,
	}
}

func (m *meter) end(a *Attempt, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a.Took = took
	m.sum.Running--
	switch {
	case a.Status == 429:
		m.sum.Limited++
	case a.Status >= 400 && a.Status < 500:
		m.sum.Refused++
	}
}

func (m *meter) read() Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.sum
	out.Attempts = make([]Attempt, len(m.all))
	for i, a := range m.all {
		out.Attempts[i] = *a
	}
	return out
}

// limiter lets each key through so often per second, with one second's worth at once.
type limiter struct {
	mu   sync.Mutex
	rate float64
	// free is when a key's whole allowance is available again.
	free map[string]time.Time
}

// allowance is what a key may still do.
type allowance struct {
	limit, remaining int
	// wait is how long until the next request is let through, zero when this one is, and reset how
	// long until everything is.
	wait, reset time.Duration
}

func (l *limiter) take(key string, now time.Time) allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	each := time.Duration(float64(time.Second) / l.rate)
	limit := max(1, int(math.Floor(l.rate)))
	free := l.free[key]
	if free.Before(now) {
		free = now
	}
	after := free.Add(each)
	if over := after.Sub(now) - time.Duration(limit)*each; over > 0 {
		return allowance{limit: limit, wait: over, reset: free.Sub(now)}
	}
	l.free[key] = after
	used := int(math.Ceil(float64(after.Sub(now)) / float64(each)))
	return allowance{limit: limit, remaining: limit - used, reset: after.Sub(now)}
}
