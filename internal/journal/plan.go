package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Batch is one append on its way into a store: its rows, checked and encoded.
type Batch struct {
	At   time.Time
	Rows []Row
	// Encoded holds the rows as they are stored.
	Encoded []Encoded
}

// NewBatch checks and encodes rows. Times are kept to the millisecond.
func NewBatch(ref Ref, at time.Time, rows []Row) (*Batch, error) {
	if ref.Tenant == "" || ref.Tenant == "*" || ref.Conversation == "" {
		return nil, refused("an append needs a tenant and a conversation")
	}
	if len(rows) == 0 {
		return nil, refused("an append needs at least one row")
	}
	b := &Batch{
		At: at.UTC().Truncate(time.Millisecond), Rows: slices.Clone(rows),
		Encoded: make([]Encoded, len(rows)),
	}
	for i, row := range rows {
		e, err := Encode(row)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(e.Body, []byte(`\ufffd`)) || bytes.Contains(e.Body, []byte("\uFFFD")) {
			// Something was replaced: the fold must see the stored text.
			if b.Rows[i], err = Decode(e.Kind, e.Body); err != nil {
				return nil, err
			}
		}
		b.Encoded[i] = e
	}
	return b, nil
}

// Opens reports whether the batch may begin a conversation.
func (b *Batch) Opens() bool {
	return slices.ContainsFunc(b.Rows, func(r Row) bool { return r.Kind() == KindOpened })
}

// Tail is where a conversation's list ends.
type Tail struct {
	Seq    int64
	Number int64
}

// Numbered is a row with its place in the list.
type Numbered struct {
	Encoded
	Row    Row
	Seq    int64
	Number int64
	At     time.Time
}

// Plan is the result of appends to one conversation.
type Plan struct {
	// Insert are the new rows, in order.
	Insert []Numbered
	// Written answers each batch.
	Written [][]Written
	Tail    Tail
	At      time.Time

	known map[string]Written
}

// NewPlan numbers the rows of batches after the tail. A key that is known already, from the list or
// from an earlier row, is not written again. Nor is anything of a batch with a known step, since
// the leg that recorded that step has continued from it. It refuses rows that cannot follow the
// list: they come before Opened, or name an unknown task or parent.
func NewPlan(tail Tail, known map[string]Written, batches []*Batch) (Plan, error) {
	p := Plan{Tail: tail, Written: make([][]Written, len(batches)), known: known}
	for i, b := range batches {
		fenced := b.fenced(known)
		for j, e := range b.Encoded {
			if w, ok := known[e.Key]; ok || fenced {
				p.Written[i] = append(p.Written[i], w)
				continue
			}
			if p.Tail.Seq == 0 && e.Kind != KindOpened {
				return p, NotFound()
			}
			for _, cause := range causes(b.Rows[j]) {
				if _, ok := known[cause]; !ok {
					return p, refused("row %.60q: there is no %.60q that it could follow", e.Key, cause)
				}
			}
			p.Tail.Seq++
			w := Written{Seq: p.Tail.Seq}
			if e.Kind == KindMessageReceived {
				p.Tail.Number++
				w.Number = p.Tail.Number
			}
			p.Insert = append(p.Insert, Numbered{Encoded: e, Row: b.Rows[j], Seq: w.Seq, Number: w.Number, At: b.At})
			p.Written[i] = append(p.Written[i], w)
			p.At = b.At
			w.Existed = true
			known[e.Key] = w
		}
	}
	return p, nil
}

// fenced reports whether the list holds a step of the batch already.
func (b *Batch) fenced(known map[string]Written) bool {
	for _, e := range b.Encoded {
		if _, ok := known[e.Key]; ok && e.Kind == KindStepped {
			return true
		}
	}
	return false
}

// causes are the keys of what must be in the list before a row: the task that it is about, and its
// agent's first; for a task, also the first of the agent that asked for it.
func causes(row Row) (keys []string) {
	agent, task := row.about()
	r, assigned := row.(TaskAssigned)
	if agent != task {
		keys = append(keys, taskKey(agent))
	}
	switch {
	case agent == "":
	case !assigned:
		keys = append(keys, taskKey(task))
	case r.Parent != "":
		keys = append(keys, taskKey(r.Parent))
	}
	return keys
}

// taskKey is the key of the row that assigned a task. An agent's first task has the agent's id.
func taskKey(task string) string { return TaskAssigned{In: In{Task: task}}.Key() }

// LookUp returns the keys that a store must look up before it can plan: those of all rows and of
// what they follow, those that would void a reply among them, and the requests responded to.
func LookUp(batches []*Batch) []string {
	var keys []string
	for _, b := range batches {
		for i, e := range b.Encoded {
			keys = append(append(keys, e.Key), causes(b.Rows[i])...)
			if r, ok := b.Rows[i].(MessageAdded); ok && r.Message.Speaker == chat.Assistant {
				keys = append(keys, VoidKey(r.Agent, r.Turn))
			}
			if r, ok := b.Rows[i].(ModelReplied); ok {
				keys = append(keys, ModelCalled{In: r.In, Call: r.Call}.Key())
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Lasting reports whether a key is worth remembering: later rows will follow it.
func Lasting(key string) bool {
	return strings.HasPrefix(key, taskPrefix) || strings.HasPrefix(key, requestPrefix)
}

// Settles reports whether all requests that batches respond to are known.
func Settles(batches []*Batch, known map[string]Written) bool {
	for _, b := range batches {
		for _, row := range b.Rows {
			if r, ok := row.(ModelReplied); ok {
				if _, ok := known[(ModelCalled{In: r.In, Call: r.Call}).Key()]; !ok {
					return false
				}
			}
		}
	}
	return true
}

// HashOf is the name under which a text is kept.
func HashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
