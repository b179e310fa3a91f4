package apitest

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

// Played takes commands as Commands does. After each message of a person it records what an
// orchestrator would have done because of it.
type Played struct {
	Commands
	Bus live.Bus
	// Answer are the rows of it.
	Answer func(said api.Said) []journal.Row
	// Decided are those that follow a decision; nil means none.
	Decided func(d journal.ApprovalDecided) []journal.Row
}

// Decide implements api.Commands.
func (p Played) Decide(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) error {
	if err := p.Commands.Decide(ctx, ref, d); err != nil || p.Decided == nil {
		return err
	}
	return p.record(ctx, ref, p.Decided(d)...)
}

// Say implements api.Commands.
func (p Played) Say(ctx context.Context, ref journal.Ref, s api.Said) error {
	if err := p.Commands.Say(ctx, ref, s); err != nil {
		return err
	}
	rows := p.Answer(s)
	if len(rows) == 0 {
		return nil
	}
	return p.record(ctx, ref, rows...)
}

// Cancel implements api.Commands.
func (p Played) Cancel(ctx context.Context, ref journal.Ref, id, by, task string) error {
	if err := p.Commands.Cancel(ctx, ref, id, by, task); err != nil {
		return err
	}
	return p.record(ctx, ref, journal.TurnEnded{In: root, Serial: 100, Turn: 100, Status: chat.StatusCancelled, ErrorKind: chat.KindCancelled, By: by})
}

func (p Played) record(ctx context.Context, ref journal.Ref, rows ...journal.Row) error {
	written, err := p.Log.Append(ctx, ref, time.Now(), rows...)
	if err == nil {
		p.Bus.Announce(live.Appended{Topic: live.Topic(ref), Seq: written[len(written)-1].Seq})
	}
	return err
}
