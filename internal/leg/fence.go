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

// errBehind means that another leg has continued the task.
var errBehind = errors.New("another leg of this task has gone on")

// record appends rows, and repeats this while it is unknown whether they were written: the leg
// holds the only copy of a reply or a result.
func (l *leg) record(ctx context.Context, rows []journal.Row) error {
	tries := 0
	var written []journal.Written
	err := l.Patiently(ctx, func() (err error) {
		tries++
		l.point(host.PointLegAppend)
		written, err = l.Log.Append(ctx, l.in.Ref, l.Now(), rows...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record %d rows of %s: %w", len(rows), l.in.Task, err)
	}
	l.point(host.PointLegAppended)
	return l.fenced(ctx, rows, written, tries > 1)
}

func isStep(r journal.Row) bool { return r.Kind() == journal.KindStepped }

// fenced reports whether a model call or a step of the rows was recorded by somebody else before.
func (l *leg) fenced(ctx context.Context, rows []journal.Row, written []journal.Written, doubt bool) error {
	if l.calledElsewhere(rows, written, doubt) {
		return errBehind
	}
	i := slices.IndexFunc(rows, isStep)
	if i < 0 || !written[i].Existed {
		return nil
	}
	first, _ := rows[i].(journal.Stepped)
	if !doubt {
		return errBehind
	}
	steps, err := l.Log.Steps(ctx, l.in.Ref, l.in.Task, first.N-1)
	if err != nil {
		return err
	}
	for _, row := range rows[i:] {
		mine, ok := row.(journal.Stepped)
		if !ok {
			continue
		}
		if len(steps) == 0 || !sameEvent(mine, steps[0]) {
			return errBehind
		}
		steps = steps[1:]
	}
	return nil
}

// calledElsewhere reports whether another leg recorded one of the model calls first. A leg may have
// recorded it twice itself, because the first answer was lost. Then it wrote the existing row,
// unless it found the call in doubt: then nobody knows.
func (l *leg) calledElsewhere(rows []journal.Row, written []journal.Written, twice bool) bool {
	for i, row := range rows {
		called, ok := row.(journal.ModelCalled)
		if !ok || called.Turn == 0 || !written[i].Existed {
			continue
		}
		if !twice || l.doubtful[agent.CallModel{Turn: called.Turn, Attempt: called.Attempt}.Key()] {
			return true
		}
	}
	return false
}

// sameEvent reports whether two steps tell of the same.
func sameEvent(a, b journal.Stepped) bool {
	one, errA := agent.UnmarshalEvent(a.Event)
	other, errB := agent.UnmarshalEvent(b.Event)
	return errA == nil && errB == nil && reflect.DeepEqual(one, other)
}
