package app

import (
	"context"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/telemetry"
)

// figures adds what this node knows to its metrics.
func (n *Node) figures(m *telemetry.Metrics, server *api.Server) {
	count := func(value func(api.Counts) float64) func() float64 {
		return func() float64 { return value(server.Counts()) }
	}
	m.Gauge("retinue_streams_open", "Streams that are open.", count(func(c api.Counts) float64 { return float64(c.Streams) }))
	m.Gauge("retinue_conversations_watched", "Conversations that somebody watches.", count(func(c api.Counts) float64 { return float64(c.Taps) }))
	m.Gauge("retinue_commands_under_way", "Commands that are carried out.", count(func(c api.Counts) float64 { return float64(c.Commands) }))
	m.Counter("retinue_streams_cut_total", "Streams that ended because their reader was slow.",
		count(func(c api.Counts) float64 { return float64(c.Cut) }))
	m.Counter("retinue_resyncs_total", "Readers that were too far behind and were told to read anew.",
		count(func(c api.Counts) float64 { return float64(c.Resyncs) }))
	m.Counter("retinue_live_sent_total", "Notices that were handed to readers.", func() float64 { return float64(n.Bus.Counts().Sent) })
	m.Counter("retinue_live_refused_total", "Notices that broke a limit.", func() float64 { return float64(n.Bus.Counts().Refused) })
	m.Counter("retinue_live_lost_total", "Notices that found a full queue.", func() float64 { return float64(n.Bus.Counts().Lost) })
	m.Counter("retinue_live_cut_total", "Readers of notices that were too slow.", func() float64 { return float64(n.Bus.Counts().Cut) })
	m.Gauge("retinue_mail_waiting", "Mail that the engine has not been told of.", func() float64 {
		posts, _ := n.pressure.waiting()
		return float64(posts)
	})
	m.Gauge("retinue_mail_oldest_seconds", "How long the oldest of that mail has waited.", func() float64 {
		_, age := n.pressure.waiting()
		return age.Seconds()
	})
	m.Gauge("retinue_journal_append_oldest_seconds", "How long the oldest append has been under way.", func() float64 {
		return n.pressure.slowest("").Seconds()
	})
}

// journalReady complains when the journal cannot be used.
func (n *Node) journalReady(ctx context.Context) error {
	if n.ready != nil {
		return n.ready(ctx)
	}
	_, err := n.Log.Pending(ctx, time.Time{}, 1)
	return err
}

// engineReady complains when the engine cannot be used.
func (n *Node) engineReady(ctx context.Context) error {
	if err := n.Client.Ready(ctx); err != nil {
		return fmt.Errorf("ask the engine: %w", err)
	}
	return nil
}
