package watch_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// lengthy is a conversation of large messages.
func lengthy(t *testing.T, count int) *journaltest.Memory {
	t.Helper()
	log, ref := journaltest.NewMemory(), journal.Ref{Tenant: "a", Conversation: "c1"}
	rows := []journal.Row{journal.Opened{By: "ann"}}
	large := strings.Repeat("語", 130_000)
	for i := range count {
		rows = append(rows, journal.MessageReceived{ID: fmt.Sprint("m", i), By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: large}}})
	}
	if _, err := log.Append(t.Context(), ref, time.Now(), rows...); err != nil {
		t.Fatal(err)
	}
	return log
}

// TestUnreadStreamsHoldLittle opens streams of a large conversation of which nothing is read. Each
// may hold a page of entries and what is made of it, and not the conversation.
func TestUnreadStreamsHoldLittle(t *testing.T) {
	const streams, most = 5, 8 << 20
	s := apitest.Crowded(t, lengthy(t, 150), nil)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, peak := heap(), int64(0)
	for range streams {
		s.Open(t, "/v1/conversations/c1/events")
	}
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		peak = max(peak, heap()-before)
	}
	t.Logf("%d streams that nobody reads hold up to %d MB", streams, peak>>20)
	if peak > streams*most {
		t.Errorf("that is more than %d MB", streams*most>>20)
	}
}
