package journaltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

// Turn is what an agent's turn with one tool call writes: three appends.
func Turn(in journal.In, n int) [][]journal.Row {
	call := fmt.Sprintf("%d.0", n)
	text := strings.Repeat("some words of a reply ", 20)
	return [][]journal.Row{
		{journal.ModelCalled{
			In: in, Call: fmt.Sprintf("%d.1", n), Type: journal.RequestContinuation, Turn: n, Attempt: 1,
			Model: "m", Prompt: "p", HoldTokens: 5000, HoldCost: 100,
		}},
		{
			journal.ModelReplied{
				In: in, Call: fmt.Sprintf("%d.1", n), Status: chat.StatusCompleted, Stop: "tools",
				Usage: chat.Usage{Input: 3000, Output: 200, CacheRead: 2500, Cost: 42}, Duration: 900,
			},
			journal.MessageAdded{In: in, Turn: n, Message: chat.Message{
				ID: fmt.Sprint("t", n), Speaker: chat.Assistant, Parts: []chat.Part{
					{Kind: chat.PartText, Text: text},
					{Kind: chat.PartToolUse, Call: call, Tool: "read_file", Args: `{"path":"a.go"}`},
				},
			}},
			journal.Stepped{In: in, N: 2 * n, Event: []byte(`{"name":"Replied","event":{"turn":1}}`)},
		},
		{
			journal.ToolReturned{In: in, Call: call, Status: journal.CallCompleted, Text: text, Duration: 3},
			journal.Stepped{In: in, N: 2*n + 1, Event: []byte(`{"name":"ToolDone","event":{"call":"1.0"}}`)},
			journal.MessageAdded{In: in, Message: chat.Message{
				ID: fmt.Sprint("u", n), Speaker: chat.User,
				Parts: []chat.Part{{Kind: chat.PartToolResult, Call: call, Text: text}},
			}},
		},
	}
}

// Bare writes a turn's rows with nothing but the driver: the same rows into the same tables, in one
// transaction for each append, without reading anything first.
type Bare func(ctx context.Context, ref journal.Ref, in journal.In, n int, seq int64) error

// The targets of the project, and the bounds that figures are checked against: the time that a busy
// machine adds is not the journal's fault.
const (
	ratioTarget, ratioBound = 1.3, 2.0
	crowdTarget, crowdBound = 3.0, 30.0
	readTarget, readBound   = 1.2, 1.5
)

// hold gives a figure to be checked against its bound, and says whether it reached its target.
func hold(t *testing.T, what string, figure, target, bound float64) {
	t.Helper()
	word := "reached"
	if figure > target { // not a bound: a target that is missed is reported, and fails nothing
		word = "missed"
	}
	measure.Most(t, fmt.Sprintf("bench/journal: %s: %s, target %.1f %s", t.Name(), what, target, word), figure, bound)
}

// Figures measures a journal against its bare driver, in one run, and prints what it finds.
func Figures(t *testing.T, log journal.Log, bare Bare, statements func() int64) {
	t.Helper()
	appendFigures(t, log, bare, statements)
	crowdFigures(t, log)
	readFigures(t, log)
}

// appendFigures takes turns between the journal and the bare driver.
func appendFigures(t *testing.T, log journal.Log, bare Bare, statements func() int64) {
	t.Helper()
	const rounds, turns = 12, 40
	ours, theirs := journal.Ref{Tenant: "acme", Conversation: "ours"}, journal.Ref{Tenant: "acme", Conversation: "bare"}
	write(t, log, ours, opening()...)
	write(t, log, theirs, opening()...)
	var own, raw []float64
	var took, tookRaw time.Duration
	seq, turn := int64(2), 0
	before := statements()
	for range rounds {
		began := time.Now()
		for i := range turns {
			for _, rows := range Turn(root, turn+i+1) {
				write(t, log, ours, rows...)
			}
		}
		d := time.Since(began)
		own, took = append(own, d.Seconds()), took+d
		began = time.Now()
		for i := range turns {
			if err := bare(t.Context(), theirs, root, turn+i+1, seq); err != nil {
				t.Fatal(err)
			}
			seq += 7
		}
		d = time.Since(began)
		raw, tookRaw = append(raw, d.Seconds()), tookRaw+d
		turn += turns
	}
	for _, ref := range []journal.Ref{ours, theirs} {
		if err := Verify(t.Context(), log, ref); err != nil {
			t.Errorf("what was measured is not right: %v", err)
		}
	}
	n := float64(rounds * turns)
	t.Logf("one writer: %.0f appends/s, %.0f turns/s (7 rows, 3 appends, %.0f statements each); bare driver %.0f turns/s",
		3*n/took.Seconds(), n/took.Seconds(), float64(statements()-before)/n, n/tookRaw.Seconds())
	hold(t, "the journal next to its bare driver", median(own)/median(raw), ratioTarget, ratioBound)
}

// crowdFigures compares one writer with 64 in one conversation. Each round has its own of both, and
// the round in the middle counts: a disk that stands still for a moment spoils the rounds that it
// falls into.
func crowdFigures(t *testing.T, log journal.Log) {
	t.Helper()
	ref := journal.Ref{Tenant: "acme", Conversation: "crowd"}
	write(t, log, ref, opening()...)
	const crowd, rounds, appends = 64, 24, 8
	var ratios []float64
	var alone, together []time.Duration
	var took time.Duration
	for round := range rounds {
		var one []time.Duration
		for n := range 50 {
			id := fmt.Sprintf("alone-%d-%d", round, n)
			one = append(one, timed(t, log, ref, journal.MessageReceived{ID: id, By: "ann"}))
		}
		many := make([]time.Duration, crowd*appends)
		began := time.Now()
		var wg sync.WaitGroup
		for w := range crowd {
			wg.Go(func() {
				for n := range appends {
					id := fmt.Sprintf("%d-%d-%d", round, w, n)
					many[w*appends+n] = timed(t, log, ref, journal.MessageReceived{ID: id, By: "ann"})
				}
			})
		}
		wg.Wait()
		took += time.Since(began)
		ratios = append(ratios, float64(p95(many))/float64(p95(one)))
		alone, together = append(alone, one...), append(together, many...)
	}
	ratio := median(ratios)
	t.Logf("%d writers in one conversation: %.0f appends/s, p95 %s, a lone writer's %s; ratio in the middle of %d rounds %.2f, %.2f to %.2f",
		crowd, crowd*rounds*appends/took.Seconds(), p95(together).Round(time.Microsecond),
		p95(alone).Round(time.Microsecond), rounds, ratio, slices.Min(ratios), slices.Max(ratios))
	hold(t, "p95 in a crowd next to a lone writer's", ratio, crowdTarget, crowdBound)
}

func timed(t *testing.T, log journal.Log, ref journal.Ref, row journal.Row) time.Duration {
	began := time.Now()
	if _, err := log.Append(t.Context(), ref, start, row); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// readFigures reads the end of a short and of a long conversation, in turns.
func readFigures(t *testing.T, log journal.Log) {
	t.Helper()
	short, long := journal.Ref{Tenant: "acme", Conversation: "short"}, journal.Ref{Tenant: "acme", Conversation: "long"}
	for ref, n := range map[journal.Ref]int{short: 1_000, long: 100_000} {
		write(t, log, ref, opening()...)
		for i := 0; i < n; i += 500 {
			var rows []journal.Row
			for j := range 500 {
				rows = append(rows, journal.MessageAdded{In: root, Turn: i + j + 1, Message: chat.Message{
					ID: fmt.Sprint("t", i+j), Speaker: chat.Assistant,
					Parts: []chat.Part{{Kind: chat.PartText, Text: fmt.Sprint("message ", i+j)}},
				}})
			}
			write(t, log, ref, rows...)
		}
	}
	took := map[journal.Ref][]float64{}
	page := journal.Page{Limit: 200}
	for range 300 {
		for _, ref := range []journal.Ref{short, long} {
			began := time.Now()
			messages, err := log.Transcript(t.Context(), ref, root.Agent, page)
			if err != nil || len(messages) != 200 {
				t.Fatalf("%d messages, %v", len(messages), err)
			}
			took[ref] = append(took[ref], time.Since(began).Seconds())
		}
	}
	t.Logf("last 200 of 100,000 messages %.2f ms, of 1,000 %.2f ms", 1000*median(took[long]), 1000*median(took[short]))
	hold(t, "the end of 100,000 messages next to that of 1,000", median(took[long])/median(took[short]), readTarget, readBound)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func p95(values []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*95/100]
}
