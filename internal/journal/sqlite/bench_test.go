package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

var (
	root  = journal.In{Agent: "root", Task: "root"}
	start = time.UnixMilli(1_700_000_000_000).UTC()
)

// reply is an append of four rows: a model call that ends, its text and its effects.
func reply(n int) []journal.Row {
	return []journal.Row{
		journal.ModelCalled{In: root, Call: fmt.Sprint(n), Type: journal.RequestPrompt, Turn: n, HoldTokens: 100},
		journal.ModelReplied{
			In: root, Call: fmt.Sprint(n), Status: chat.StatusCompleted, Usage: chat.Usage{Input: 10, Output: 2},
		},
		journal.MessageAdded{In: root, Turn: n, Message: chat.Message{
			ID: fmt.Sprint("t", n), Speaker: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.PartText, Text: "a reply of a few words that somebody may search for"},
				{Kind: chat.PartToolUse, Call: fmt.Sprint(n, ".0"), Tool: "read_file", Args: `{"path":"a.go"}`},
			},
		}},
		journal.Stepped{In: root, N: n, Event: []byte(`{"name":"Replied"}`)},
	}
}

func begin(tb testing.TB, log journal.Log, conversations int) []journal.Ref {
	tb.Helper()
	places := make([]journal.Ref, conversations)
	for i := range places {
		places[i] = journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("c", i)}
		if _, err := log.Append(tb.Context(), places[i], start, journaltest.Opening()...); err != nil {
			tb.Fatal(err)
		}
	}
	return places
}

// BenchmarkAppend has one writer append four rows at a time.
func BenchmarkAppend(b *testing.B) {
	log := open(b, filepath.Join(b.TempDir(), "journal.db"))
	ref := begin(b, log, 1)[0]
	before, n := cpu(b), 0
	for b.Loop() {
		n++
		if _, err := log.Append(b.Context(), ref, start, reply(n)...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(n)/1000, "cpu-µs/append")
}

// BenchmarkCrowd has 64 conversations append four rows at a time, all at once.
func BenchmarkCrowd(b *testing.B) {
	const writers = 64
	log := open(b, filepath.Join(b.TempDir(), "journal.db"))
	places := begin(b, log, writers)
	before, n := cpu(b), 0
	for b.Loop() {
		n++
		var wg sync.WaitGroup
		for _, ref := range places {
			wg.Go(func() {
				if _, err := log.Append(b.Context(), ref, start, reply(n)...); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(n*writers)/1000, "cpu-µs/append")
	b.ReportMetric(float64(n*writers)/b.Elapsed().Seconds(), "appends/s")
}

// cpu is the time that this process has computed, in the program and in the kernel.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
