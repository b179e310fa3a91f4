package leg

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// errBehind means that another leg has carried the task on.
var errBehind = errors.New("another leg of this task has gone on")

// record appends rows, again and again while nobody knows whether they were written: what a model or
// a tool gave is in nobody else's hands.
func (l *leg) record(ctx context.Context, rows []journal.Row) error {
	tries := 0
	var written []journal.Written
	err := l.Patiently(ctx, func() (err error) {
		tries++
		l.point(host.PointLegAppend)
		written, err = l.Log.Append(ctx, l.in.Place, l.Now(), rows...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record %d rows of %s: %w", len(rows), l.in.Task, err)
	}
	l.point(host.PointLegAppended)
	return l.fenced(ctx, rows, written, tries > 1)
}

func isStep(r journal.Row) bool { return r.Kind() == journal.KindStepped }

// fenced reports whether a step of the rows was recorded by somebody else before.
func (l *leg) fenced(ctx context.Context, rows []journal.Row, written []journal.Written, doubt bool) error {
	i := slices.IndexFunc(rows, isStep)
	if i < 0 || !written[i].Existed {
		return nil
	}
	mine, _ := rows[i].(journal.Stepped)
	if !doubt {
		return errBehind
	}
	steps, err := l.Log.Steps(ctx, l.in.Place, l.in.Task, mine.N-1)
	if err != nil {
		return err
	}
	a, errA := agent.UnmarshalEvent(mine.Event)
	b, errB := agent.UnmarshalEvent(steps[0].Event)
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		return errBehind
	}
	return nil
}
