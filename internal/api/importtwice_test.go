package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
)

// stalled is a journal that fails the first append of an import, when it is told to.
type stalled struct {
	journal.Log
	first        sync.Once
	reached, end chan struct{}
}

func (s *stalled) Append(ctx context.Context, ref journal.Ref, at time.Time, rows ...journal.Row) ([]journal.Written, error) {
	fails := false
	if journal.Imported(ref.Conversation) {
		s.first.Do(func() { fails = true })
	}
	if !fails {
		return s.Log.Append(ctx, ref, at, rows...)
	}
	close(s.reached)
	<-s.end
	return nil, context.DeadlineExceeded
}

// TestImportSentTwice has the first of two sends of one import fail after the second was
// acknowledged.
func TestImportSentTwice(t *testing.T) {
	t.Parallel()
	log := &stalled{Log: journaltest.NewMemory(), reached: make(chan struct{}), end: make(chan struct{})}
	o := newOfficeOn(t, log)
	path, _ := o.begin(t, "key-begin")
	export := string(o.send(t, http.MethodGet, path+"/export", "", "").Body)
	send := func() reply {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.URL+"/v1/import", strings.NewReader(export))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+officeToken)
		r.Header.Set("Content-Type", "application/x-ndjson")
		r.Header.Set("Idempotency-Key", "key-import")
		return o.do(t, r)
	}
	failed := make(chan reply)
	go func() { failed <- send() }()
	<-log.reached
	var c wire.Conversation
	send().into(t, http.StatusCreated, &c)
	close(log.end)
	if r := <-failed; r.Status < http.StatusInternalServerError {
		t.Errorf("the first send is answered %d: %s", r.Status, r.Body)
	}
	var state wire.Snapshot
	o.send(t, http.MethodGet, "/v1/conversations/"+c.ID, "", "").into(t, http.StatusOK, &state)
	if !state.Conversation.Archived {
		t.Errorf("the import is %+v", state.Conversation)
	}
}

// TestUploadsEnd sends more than an export may have.
func TestUploadsEnd(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.URL+"/v1/import", io.LimitReader(endless{}, 65<<20))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+officeToken)
	r.Header.Set("Content-Type", "application/jsonl")
	r.Header.Set("Idempotency-Key", "an-import-of-too-much")
	o.refuses(t, "65 MB", o.do(t, r), http.StatusRequestEntityTooLarge, "invalid")
}

// endless is a text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
