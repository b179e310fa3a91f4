package leg

import (
	"context"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/journal"
)

// takeAll handles the events that have arrived, in order, and then begins their effects.
func (l *leg) takeAll(ctx context.Context, arrived []completion) error {
	if len(arrived) == 0 {
		return l.commit(ctx, nil)
	}
	for i, a := range arrived {
		l.hold = i < len(arrived)-1
		if err := l.take(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// take gives the core an event and records it with all that belongs to it. An event that the core
// refuses changes nothing.
func (l *leg) take(ctx context.Context, end completion) error {
	if end.event == nil {
		return l.put(ctx, []journal.Row{journal.MailDelivered{ID: end.mail.ID}})
	}
	s, err := l.position.take(end.event)
	if err != nil {
		return l.put(ctx, append(end.rows, l.refuse(end.mail, err)...))
	}
	body, err := agent.MarshalEvent(end.event)
	if err != nil {
		return err
	}
	l.cache.learn(end.rows)
	step := journal.Stepped{In: l.in.In(), N: s.N, Event: body}
	l.forget(end.event)
	l.owe(s.Effects)
	l.first = l.first || s.N == 1
	if s.N%saveEvery == 0 {
		if step.State, err = l.save(); err != nil {
			return err
		}
		l.base = s.N
	}
	rows := append(slices.Clone(end.rows), step)
	if end.mail != nil {
		rows = append(rows, journal.MailDelivered{ID: end.mail.ID})
	}
	var records []journal.Row
	if err := l.Patiently(ctx, func() (err error) { records, err = l.records(ctx, s.Effects); return err }); err != nil {
		return err
	}
	rows = append(rows, records...)
	if s.Move != nil {
		rows = append(rows, l.moved(*s.Move))
	}
	return l.put(ctx, rows)
}

// mostKept is how many rows are recorded together.
const mostKept = 256

// put makes rows durable, those of an event that others follow at once together with theirs.
func (l *leg) put(ctx context.Context, rows []journal.Row) error {
	if l.hold && len(l.kept)+len(rows) < mostKept {
		l.kept = append(l.kept, rows...)
		return nil
	}
	return l.commit(ctx, rows)
}

// commit makes rows durable, together with those that announce the next effects, and begins these.
func (l *leg) commit(ctx context.Context, rows []journal.Row) error {
	rows, l.kept = append(l.kept, rows...), nil
	l.abort()
	var begin []func()
	for _, effect := range l.pick() {
		err := l.Patiently(ctx, func() error {
			announced, run, err := l.prepare(ctx, effect)
			if err == nil {
				rows, begin = append(rows, announced...), append(begin, run)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(rows) > 0 {
		if err := l.record(ctx, rows); err != nil {
			return err
		}
	}
	if l.first && l.begunHook != nil {
		l.begunHook()
	}
	l.first = false
	for _, run := range begin {
		run()
	}
	l.bring(ctx, rows)
	return l.killAll(ctx)
}

// pick takes what may be begun now off the list.
func (l *leg) pick() []agent.Effect {
	if l.yield || l.hold || l.Now().Sub(l.family.began) > legSpan || l.family.leaves() {
		return nil
	}
	var out, left []agent.Effect
	for _, e := range l.todo {
		switch e.(type) {
		case agent.StartChild:
			out = append(out, e)
			continue
		case agent.KillChild: // is for killAll
			left = append(left, e)
			continue
		default:
		}
		if l.in.Effects > 0 && l.begun >= l.in.Effects {
			left = append(left, e)
			continue
		}
		l.begun++
		out = append(out, e)
	}
	l.todo = left
	return out
}
