package export

import (
	"context"
	"crypto/sha256"
	"io"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/journal"
)

// inspector plays an export through without writing it. It keeps as little as it can of one that
// may have half a million lines: the keys that later rows follow, a hash of each other key, and
// what waits.
type inspector struct {
	ref       journal.Ref
	now       time.Time
	unsettled *journal.Unsettled
	tail      journal.Tail
	known     map[string]journal.Written
	seen      map[[16]byte]struct{}
}

func newInspector(ref journal.Ref, now time.Time) *inspector {
	return &inspector{
		ref: ref, now: now, unsettled: journal.NewUnsettled(), known: map[string]journal.Written{}, seen: map[[16]byte]struct{}{},
	}
}

// again reports whether a key was there before.
func (c *inspector) again(key string) bool {
	sum := sha256.Sum256([]byte(key))
	short := [16]byte(sum[:16])
	_, there := c.seen[short]
	c.seen[short] = struct{}{}
	return there
}

// entry implements exportReader.
func (c *inspector) entry(_ context.Context, line int, e exportEntry, row journal.Row) error {
	if row.Key() != e.Key {
		return badExport(line, "its key does not fit its row")
	}
	if e.At.Year() < 1970 || e.At.After(c.now.Add(24*time.Hour)) {
		return badExport(line, "its time cannot be right")
	}
	batch, err := journal.NewBatch(c.ref, e.At, []journal.Row{row})
	if err != nil {
		return badExport(line, "%v", err)
	}
	if c.again(e.Key) {
		return badExport(line, "it is there twice")
	}
	plan, err := journal.NewPlan(c.tail, c.known, []*journal.Batch{batch})
	if err != nil {
		return badExport(line, "it cannot follow the lines before it")
	}
	if len(plan.Insert) != 1 || plan.Insert[0].Number != e.Number {
		return badExport(line, "its number is wrong")
	}
	if c.tail = plan.Tail; !journal.Lasting(e.Key) {
		delete(c.known, e.Key)
	}
	c.unsettled.Apply(batch.Rows[0])
	return nil
}

// text implements exportReader.
func (c *inspector) text(_ context.Context, line int, t exportText) error {
	if journal.HashOf(t.Text) != t.Hash {
		return badExport(line, "its hash does not fit its text")
	}
	return nil
}

// settled refuses an export in which somebody still waits for something that will never come.
func (c *inspector) settled() error {
	if c.tail.Seq == 0 {
		return &admission.Problem{Code: "invalid", Detail: "there is nothing in this export"}
	}
	if c.unsettled.Any() {
		return &admission.Problem{
			Code: "conflict", Detail: "something in this conversation waited for a person or for the engine when it was exported",
			Next: "decide or cancel what waits, then export it again",
		}
	}
	return nil
}

// importer writes an export that was looked through. Rows of one moment go together, always the
// same ones, so that an import that was broken off can be sent again.
type importer struct {
	log journal.Log
	ref journal.Ref
	// owner is who may see it if it is private.
	owner  string
	at     time.Time
	rows   []journal.Row
	closed bool
}

// writeImport writes all lines of an export and takes the conversation off the list.
func (s *Service) writeImport(ctx context.Context, file io.ReadSeeker, ref journal.Ref, by string) error {
	w := &importer{log: s.options.Log, ref: ref, owner: admission.CallerOf(ctx).User}
	if err := readExport(ctx, file, w, s.guard.Rester(ref.Tenant)); err != nil {
		return err
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	if w.closed {
		return nil
	}
	_, err := s.options.Log.Append(ctx, ref, s.options.Now(), journal.Archived{By: by})
	return err
}

// entry implements exportReader.
func (w *importer) entry(ctx context.Context, _ int, e exportEntry, row journal.Row) error {
	if len(w.rows) == importRows || !e.At.Equal(w.at) {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if first, ok := row.(journal.Opened); ok && first.PrivateTo != "" {
		first.PrivateTo = w.owner
		row = first
	}
	w.at, w.rows = e.At, append(w.rows, row)
	w.closed = w.closed || row.Kind() == journal.KindArchived
	return nil
}

// text implements exportReader.
func (w *importer) text(ctx context.Context, _ int, t exportText) error {
	return w.log.Keep(ctx, w.ref, t.Text)
}

// flush writes the rows of one moment.
func (w *importer) flush(ctx context.Context) error {
	if len(w.rows) == 0 {
		return nil
	}
	_, err := w.log.Append(ctx, w.ref, w.at, w.rows...)
	w.rows = nil
	return err
}
