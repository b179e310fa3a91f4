// Package journaltest holds the suite that every journal must pass, and the in-memory journal that
// defines what passing means. It is for tests.
package journaltest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Memory is a journal that forgets everything when the program ends. It is the list and its View.
type Memory struct {
	mu            sync.Mutex
	conversations map[journal.Ref]*list
	texts         map[journal.Ref]map[string]string
	erased        map[journal.Ref]journal.Tombstone
	spent         map[string]int64 // by tenant and month
}

type list struct {
	entries []journal.Entry
	known   map[string]journal.Written
	view    *View
}

var _ journal.Log = (*Memory)(nil)

// NewMemory returns an empty journal.
func NewMemory() *Memory {
	return &Memory{
		conversations: map[journal.Ref]*list{}, texts: map[journal.Ref]map[string]string{}, erased: map[journal.Ref]journal.Tombstone{}, spent: map[string]int64{},
	}
}

// Append implements journal.Writer.
func (m *Memory) Append(
	_ context.Context, ref journal.Ref, at time.Time, rows ...journal.Row,
) ([]journal.Written, error) {
	batch, err := journal.NewBatch(ref, at, rows)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.conversations[ref]
	if !ok {
		if _, gone := m.erased[ref]; gone && batch.OpensOnce() {
			return nil, journal.Gone()
		}
		l = &list{known: map[string]journal.Written{}, view: NewView()}
	}
	known := map[string]journal.Written{}
	for _, key := range journal.LookUp([]*journal.Batch{batch}) {
		if w, ok := l.known[key]; ok {
			known[key] = w
		}
	}
	tail := journal.Tail{}
	if n := len(l.entries); n > 0 {
		c := l.view.Snapshot().Conversation
		tail = journal.Tail{Seq: c.Seq, Number: c.Number}
	}
	plan, err := journal.NewPlan(tail, known, []*journal.Batch{batch})
	if err != nil {
		return nil, err
	}
	fresh := make([]journal.Entry, len(plan.Insert))
	for i, n := range plan.Insert {
		// Rows are kept as they are stored, so that what comes back is what a database gives.
		row, err := journal.Decode(n.Kind, n.Body)
		if err != nil {
			return nil, err
		}
		fresh[i] = journal.Entry{Seq: n.Seq, Number: n.Number, At: n.At, Row: row}
	}
	for i, e := range fresh {
		l.entries = append(l.entries, e)
		l.known[plan.Insert[i].Key] = journal.Written{Seq: e.Seq, Number: e.Number, Existed: true}
		l.view.Apply(ref, e)
	}
	for _, c := range plan.Changes(ref) {
		if month, ok := c.(journal.MonthSettled); ok {
			m.spent[month.Tenant+"/"+month.Month] += month.Change
		}
	}
	m.conversations[ref] = l
	return plan.Written[0], nil
}

// Keep implements journal.Writer.
func (m *Memory) Keep(_ context.Context, ref journal.Ref, texts ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, there := m.conversations[ref]
	if _, erased := m.erased[ref]; erased && !there {
		return journal.NotFound()
	}
	if m.texts[ref] == nil {
		m.texts[ref] = map[string]string{}
	}
	for _, text := range texts {
		text = journal.Printable(text)
		m.texts[ref][journal.HashOf(text)] = text
	}
	return nil
}

// Reserve implements journal.Writer.
func (m *Memory) Reserve(_ context.Context, tenant, month string, amount, most int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spent[tenant+"/"+month]+amount > most {
		return false, nil
	}
	m.spent[tenant+"/"+month] += amount
	return true, nil
}

// Spent implements journal.Lists.
func (m *Memory) Spent(_ context.Context, tenant, month string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent[tenant+"/"+month], nil
}

// Stored implements journal.Lists.
func (m *Memory) Stored(_ context.Context, tenant string) (bytes int64, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, l := range m.conversations {
		if ref.Tenant != tenant {
			continue
		}
		for _, e := range l.entries {
			body, err := json.Marshal(e.Row)
			if err != nil {
				return 0, err
			}
			bytes += int64(len(body))
		}
	}
	for ref, texts := range m.texts {
		if ref.Tenant == tenant {
			for _, text := range texts {
				bytes += int64(len(text))
			}
		}
	}
	return bytes, nil
}

// Erase implements journal.Writer.
func (m *Memory) Erase(_ context.Context, ref journal.Ref) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.conversations[ref]
	if !ok {
		return journal.NotFound()
	}
	stone := journal.Tombstone{At: time.Now()}
	if w, ok := l.known[journal.ErasureKey()]; ok {
		post, _ := l.entries[w.Seq-1].Row.(journal.MailPosted) // nothing else has this key
		stone.Command = post.Command
	}
	m.erased[ref] = stone
	delete(m.conversations, ref)
	delete(m.texts, ref)
	return nil
}

// Erased implements journal.Reader.
func (m *Memory) Erased(_ context.Context, ref journal.Ref) (journal.Tombstone, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stone, ok := m.erased[ref]
	if !ok {
		return stone, journal.NotFound()
	}
	return stone, nil
}

// read hands out one conversation.
func (m *Memory) read(ref journal.Ref, do func(*list)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.conversations[ref]
	if !ok {
		return journal.NotFound()
	}
	do(l)
	return nil
}

// Entries implements journal.Reader.
func (m *Memory) Entries(
	_ context.Context, ref journal.Ref, after int64, limit int,
) (out []journal.Entry, err error) {
	err = m.read(ref, func(l *list) {
		from := min(max(after, 0), int64(len(l.entries)))
		found := l.entries[from:]
		found = found[:min(len(found), journal.Page{Limit: limit}.Size())]
		out = slices.Clone(found[:fitting(len(found), journal.PageBytes, func(i int) any { return found[i].Row })])
	})
	return out, err
}

// fitting is how many of a list a page has that ends with the one that makes it too large.
func fitting(n int, most int64, at func(int) any) int {
	for i, size := 0, int64(0); i < n; i++ {
		body, err := json.Marshal(at(i))
		if err != nil {
			panic(err) // it was marshalled before it was taken in
		}
		if size += int64(len(body)); size >= most {
			return i + 1
		}
	}
	return n
}

// Find implements journal.Reader.
func (m *Memory) Find(
	_ context.Context, ref journal.Ref, keys ...string,
) (out []journal.Entry, err error) {
	err = m.read(ref, func(l *list) {
		for _, e := range l.entries {
			if slices.Contains(keys, e.Row.Key()) {
				out = append(out, e)
			}
		}
	})
	return out, err
}

// Steps implements journal.Reader.
func (m *Memory) Steps(
	_ context.Context, ref journal.Ref, task string, after int,
) (out []journal.Stepped, err error) {
	err = m.read(ref, func(l *list) {
		for _, e := range l.entries {
			if step, ok := e.Row.(journal.Stepped); ok && step.Task == task && step.N > after {
				out = append(out, step)
			}
		}
	})
	return out, err
}

// Transcript implements journal.Reader.
func (m *Memory) Transcript(
	_ context.Context, ref journal.Ref, agent string, page journal.Page,
) (out []journal.Message, err error) {
	err = m.read(ref, func(l *list) { out = l.view.Transcript(agent, page) })
	return out, err
}

// Chat implements journal.Reader.
func (m *Memory) Chat(
	_ context.Context, ref journal.Ref, page journal.Page,
) (out []journal.Message, err error) {
	err = m.read(ref, func(l *list) {
		out = l.view.Chat(page)
		n := fitting(len(out), page.Most(), func(i int) any { return out[len(out)-1-i].Message })
		out = out[len(out)-n:]
	})
	return out, err
}

// Marks implements journal.Reader.
func (m *Memory) Marks(
	_ context.Context, ref journal.Ref, page journal.Page,
) (out []journal.Entry, err error) {
	err = m.read(ref, func(l *list) {
		for _, e := range l.entries {
			kind := e.Row.Kind()
			if (kind == journal.KindNoteAdded || kind == journal.KindTurnEnded) && (page.Before == 0 || e.Seq < page.Before) {
				out = append(out, e)
			}
		}
		out = out[max(0, len(out)-page.Size()):]
	})
	return out, err
}

// ModelCalls implements journal.Reader.
func (m *Memory) ModelCalls(
	_ context.Context, ref journal.Ref, agent string, page journal.Page,
) (out []journal.ModelCall, err error) {
	err = m.read(ref, func(l *list) { out = l.view.ModelCalls(agent, page) })
	return out, err
}

// ToolCalls implements journal.Reader.
func (m *Memory) ToolCalls(
	_ context.Context, ref journal.Ref, agent string, page journal.Page,
) (out []journal.ToolCall, err error) {
	err = m.read(ref, func(l *list) { out = l.view.ToolCalls(agent, page) })
	return out, err
}

// Snapshot implements journal.Reader.
func (m *Memory) Snapshot(
	_ context.Context, ref journal.Ref,
) (out journal.Snapshot, err error) {
	err = m.read(ref, func(l *list) { out = l.view.Snapshot() })
	return out, err
}

// Records implements journal.Reader.
func (m *Memory) Records(
	_ context.Context, ref journal.Ref,
) (out []journal.Record, err error) {
	err = m.read(ref, func(l *list) { out = l.view.Records() })
	return out, err
}

// of returns the conversations of a tenant.
func (m *Memory) of(tenant string) map[string]*list {
	out := map[string]*list{}
	for ref, l := range m.conversations {
		if ref.Tenant == tenant {
			out[ref.Conversation] = l
		}
	}
	return out
}

// Conversations implements journal.Lists.
func (m *Memory) Conversations(
	_ context.Context, tenant string, page journal.Page,
) ([]journal.Conversation, error) {
	at, id, err := journal.ParseCursor(page.Cursor)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []journal.Conversation
	for _, l := range m.of(tenant) {
		c := l.view.Snapshot().Conversation
		if c.Archived == page.Archived && cmp.Or(c.UpdatedAt.Compare(at), cmp.Compare(c.ID, id)) < 0 {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b journal.Conversation) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(len(out), page.Size())], nil
}

// Untouched implements journal.Lists.
func (m *Memory) Untouched(_ context.Context, tenant string, before time.Time, after string, limit int) (out []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.of(tenant) {
		if c := l.view.Snapshot().Conversation; c.UpdatedAt.Before(before) && c.ID > after {
			out = append(out, c.ID)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), journal.Page{Limit: limit}.Size())], nil
}

// Weight implements journal.Reader.
func (m *Memory) Weight(_ context.Context, ref journal.Ref) (w journal.Weight, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.conversations[ref]
	if !ok {
		return w, journal.NotFound()
	}
	for _, text := range m.texts[ref] {
		w.Texts++
		w.Bytes += int64(len(text))
	}
	for _, e := range l.entries {
		body, err := json.Marshal(e.Row)
		if err != nil {
			return w, err
		}
		w.Rows++
		w.Bytes += int64(len(body))
	}
	return w, nil
}

// Tails implements journal.Lists.
func (m *Memory) Tails(
	ctx context.Context, tenant string, conversations ...string,
) (map[string]journal.Tail, error) {
	lines, err := m.Lines(ctx, tenant, conversations...)
	out := map[string]journal.Tail{}
	for id, line := range lines {
		out[id] = journal.Tail{Seq: line.Seq, Number: line.Number}
	}
	return out, err
}

// Lines implements journal.Lists.
func (m *Memory) Lines(
	_ context.Context, tenant string, conversations ...string,
) (map[string]journal.Line, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]journal.Line{}
	for _, id := range conversations {
		l, ok := m.conversations[journal.Ref{Tenant: tenant, Conversation: id}]
		if !ok {
			continue
		}
		state := l.view.Snapshot()
		line := journal.Line{Conversation: state.Conversation, Last: l.view.Last()}
		for _, t := range state.Tasks {
			if !t.Status.Terminal() && t.Status != chat.StatusWaiting {
				line.Running++
			}
		}
		out[id] = line
	}
	return out, nil
}

// Inbox implements journal.Lists.
func (m *Memory) Inbox(
	_ context.Context, tenant string, limit int,
) (out []journal.Waiting, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.of(tenant) {
		out = append(out, l.view.Inbox()...)
	}
	slices.SortFunc(out, func(a, b journal.Waiting) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.Seq, b.Seq))
	})
	return out[:min(len(out), journal.Page{Limit: limit}.Size())], nil
}

// Search implements journal.Lists. It knows words, not phrases.
func (m *Memory) Search(
	_ context.Context, tenant string, query journal.Query,
) (out []journal.Hit, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, l := range m.of(tenant) {
		if query.Conversation != "" && query.Conversation != id {
			continue
		}
		out = append(out, l.view.Search(query)...)
	}
	slices.SortFunc(out, func(a, b journal.Hit) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(b.Seq, a.Seq))
	})
	return out[:min(len(out), journal.Page{Limit: query.Limit}.Size())], nil
}

// views are those of a tenant's conversations.
func (m *Memory) views(tenant string) []*View {
	var out []*View
	for _, l := range m.of(tenant) {
		out = append(out, l.view)
	}
	return out
}

// Usage implements journal.Lists.
func (m *Memory) Usage(_ context.Context, tenant string, query journal.UsageQuery) ([]journal.Used, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Usage(m.views(tenant), query), nil
}

// Tasks implements journal.Lists.
func (m *Memory) Tasks(_ context.Context, tenant string, query journal.TaskQuery) ([]journal.TaskLine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Tasks(m.views(tenant), query)
}

// Runs implements journal.Lists.
func (m *Memory) Runs(_ context.Context, tenant string, since time.Time) ([]journal.RoleRuns, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Runs(m.views(tenant), since), nil
}

// Text implements journal.Reader.
func (m *Memory) Text(_ context.Context, ref journal.Ref, hash string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.texts[ref][hash]
	if !ok {
		return "", &chat.Error{Code: chat.CodeNotFound, Message: "no text is kept under this hash"}
	}
	return text, nil
}

// Working implements journal.Lists.
func (m *Memory) Working(
	_ context.Context, before time.Time, after journal.WorkingTask, limit int,
) (out []journal.WorkingTask, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	order := func(a, b journal.WorkingTask) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Conversation, b.Conversation), strings.Compare(a.Task, b.Task))
	}
	for ref, l := range m.conversations {
		for _, t := range l.view.Working(ref, before) {
			if order(t, after) > 0 {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, order)
	return out[:min(len(out), journal.Page{Limit: limit}.Size())], nil
}

// Mail implements journal.Reader.
func (m *Memory) Mail(_ context.Context, ref journal.Ref, agent string) (out []journal.Entry, err error) {
	err = m.read(ref, func(l *list) { out = l.view.Mail(agent) })
	return out, err
}

// Mailboxes implements journal.Reader.
func (m *Memory) Mailboxes(_ context.Context, ref journal.Ref) (out []string, err error) {
	err = m.read(ref, func(l *list) { out = l.view.Mailboxes() })
	return out, err
}

// Arrived implements journal.Lists.
func (m *Memory) Arrived(_ context.Context, after time.Time, limit int) (out []journal.Post, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.conversations {
		for _, p := range l.view.Pending(after.Add(1000 * time.Hour)) {
			if p.At.After(after) {
				out = append(out, p)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b journal.Post) int { return b.At.Compare(a.At) })
	return out[:min(len(out), journal.Page{Limit: limit}.Size())], nil
}

// Pending implements journal.Lists.
func (m *Memory) Pending(
	_ context.Context, before time.Time, limit int,
) (out []journal.Post, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.conversations {
		out = append(out, l.view.Pending(before)...)
	}
	slices.SortFunc(out, func(a, b journal.Post) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Tenant, b.Tenant),
			strings.Compare(a.Conversation, b.Conversation))
	})
	turns, turn := map[string]int{}, make(map[journal.Post]int, len(out))
	for _, p := range out {
		turn[p] = turns[p.Tenant]
		turns[p.Tenant]++
	}
	slices.SortStableFunc(out, func(a, b journal.Post) int { return cmp.Compare(turn[a], turn[b]) })
	return out[:min(len(out), journal.Page{Limit: limit}.Size())], nil
}
