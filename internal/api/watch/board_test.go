package watch_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
)

// counted counts how much of a list is read.
type counted struct {
	*journaltest.Memory
	lists, lines atomic.Int64
	filling      sync.RWMutex
}

func (c *counted) Conversations(ctx context.Context, tenant string, p journal.Page) ([]journal.Conversation, error) {
	c.filling.RLock()
	defer c.filling.RUnlock()
	c.lists.Add(1)
	return c.Memory.Conversations(ctx, tenant, p)
}

func (c *counted) Lines(ctx context.Context, tenant string, ids ...string) (map[string]journal.Line, error) {
	c.lines.Add(int64(len(ids)))
	return c.Memory.Lines(ctx, tenant, ids...)
}

// fill opens conversations, each later than the one before. A reader of the list finds none of them
// or all.
func (c *counted) fill(t *testing.T, from, to int, at time.Time) {
	t.Helper()
	c.filling.Lock()
	defer c.filling.Unlock()
	for i := from; i < to; i++ {
		ref := journal.Ref{Tenant: "a", Conversation: fmt.Sprintf("c%05d", i)}
		if _, err := c.Append(t.Context(), ref, at.Add(time.Duration(i)*time.Millisecond), journal.Opened{By: "ann", Title: "t"}); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *counted) touch(t *testing.T, i int, at time.Time) {
	t.Helper()
	ref := journal.Ref{Tenant: "a", Conversation: fmt.Sprintf("c%05d", i)}
	if _, err := c.Append(t.Context(), ref, at, journal.Titled{Title: fmt.Sprint("new ", at.UnixNano())}); err != nil {
		t.Fatal(err)
	}
}

// heard counts what a stream says, by the name of the event.
type heard struct{ updated, resync, cut atomic.Int64 }

func listen(response *http.Response) *heard {
	h := &heard{}
	go func() {
		in := bufio.NewScanner(response.Body)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			switch in.Text() {
			case "event: " + string(wire.ConversationUpdated):
				h.updated.Add(1)
			case "event: " + string(wire.Resynced):
				h.resync.Add(1)
			case "event: " + string(wire.StreamCut):
				h.cut.Add(1)
			}
		}
	}()
	return h
}

// TestALookReadsWhatIsNew changes one of many conversations without a notice: that one is told, and
// the list is not walked for it.
func TestALookReadsWhatIsNew(t *testing.T) {
	t.Parallel()
	log := &counted{Memory: journaltest.NewMemory()}
	log.fill(t, 0, 6000, time.Now().Add(-time.Hour))
	s := apitest.Crowded(t, log, nil)
	h := listen(s.Open(t, "/v1/events"))
	apitest.Eventually(t, "the stream begins", func() bool { return h.resync.Load() == 1 })
	before := log.lists.Load()
	log.touch(t, 7, time.Now())
	apitest.Eventually(t, "the change is told", func() bool { return h.updated.Load() > 0 })
	apitest.Eventually(t, "some looks go by", func() bool { return log.lists.Load() >= before+5 })
	if told, lines, cut := h.updated.Load(), log.lines.Load(), s.API.Counts().Cut; told != 1 || lines != 1 || cut != 0 {
		t.Errorf("of one change %d are told, %d are read, and %d readers are cut", told, lines, cut)
	}
}

// TestManyChangesCutNobody tells more at a time than wait for a reader, and then more than are
// told.
func TestManyChangesCutNobody(t *testing.T) {
	t.Parallel()
	log := &counted{Memory: journaltest.NewMemory()}
	log.fill(t, 0, 300, time.Now().Add(-time.Hour))
	s := apitest.Crowded(t, log, nil)
	h := listen(s.Open(t, "/v1/events"))
	apitest.Eventually(t, "the stream begins", func() bool { return h.resync.Load() == 1 })
	log.fill(t, 300, 700, time.Now().Add(-time.Minute))
	apitest.Eventually(t, "all that is new is told", func() bool { return h.updated.Load() >= 400 })
	if h.resync.Load() != 1 {
		t.Error("what can be told is not")
	}
	log.fill(t, 700, 5000, time.Now())
	apitest.Eventually(t, "the reader is sent to the lists", func() bool { return h.resync.Load() >= 2 })
	before := log.lists.Load() // two looks of ten pages and the list anew: the second began after all was written
	apitest.Eventually(t, "the board has caught up", func() bool { return log.lists.Load() >= before+25 })
	told := h.updated.Load()
	log.touch(t, 3, time.Now().Add(time.Minute))
	apitest.Eventually(t, "what changes then is told", func() bool { return h.updated.Load() > told })
	if cut := s.API.Counts().Cut + h.cut.Load(); cut != 0 {
		t.Errorf("%d readers are cut", cut)
	}
}
