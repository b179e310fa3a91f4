package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
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

// TestLargeMessagesComeInPages reads all messages of a large conversation, a page after another.
func TestLargeMessagesComeInPages(t *testing.T) {
	t.Parallel()
	const count = 20
	s := apitest.Crowded(t, lengthy(t, count), nil)
	seen, path := 0, "/v1/conversations/c1/messages?limit=1000"
	for before := int64(-1); before != 0; {
		asked := path
		if before > 0 {
			asked += fmt.Sprint("&before=", before)
		}
		status, body := s.Ask(t, "a/ann", http.MethodGet, asked, "", "")
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
