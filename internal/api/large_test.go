package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
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
	_, front := insideServer(t, lengthy(t, 150), nil)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, peak := heap(), int64(0)
	for range streams {
		open(t, front, "/v1/conversations/c1/events")
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

// TestLargeMessagesComeInPages reads all messages of a large conversation, a page after another.
func TestLargeMessagesComeInPages(t *testing.T) {
	t.Parallel()
	const count = 20
	_, front := insideServer(t, lengthy(t, count), nil)
	seen, path := 0, "/v1/conversations/c1/messages?limit=1000"
	for before := int64(-1); before != 0; {
		asked := path
		if before > 0 {
			asked += fmt.Sprint("&before=", before)
		}
		status, body := ask(t, front, "a/ann", http.MethodGet, asked, "", "")
		var page wire.Page[wire.Message]
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v", status, err)
		}
		if len(body) > 2*journal.PageBytes || len(page.Items) == 0 {
			t.Fatalf("a page of %d messages has %d bytes", len(page.Items), len(body))
		}
		seen, before = seen+len(page.Items), page.Before
	}
	if seen != count {
		t.Errorf("%d messages of %d", seen, count)
	}
}
