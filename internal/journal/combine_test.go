package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
)

// store is a slow store that notes the size of each commit.
type store struct {
	mu      sync.Mutex
	commits []int
	rows    []string
	busy    bool
	fail    func(*Batch) error
}

func (s *store) commit(_ context.Context, _ string, batches []*Batch) ([][]Written, error) {
	s.mu.Lock()
	if s.busy {
		panic("two commits at a time in one lane")
	}
	s.busy = true
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	s.commits = append(s.commits, len(batches))
	for _, b := range batches {
		if s.fail != nil {
			if err := s.fail(b); err != nil {
				return nil, err
			}
		}
	}
	var out [][]Written
	for _, b := range batches {
		s.rows = append(s.rows, b.Encoded[0].Key)
		out = append(out, []Written{{Seq: int64(len(s.rows))}})
	}
	return out, nil
}

func batch(t *testing.T, id string) *Batch {
	t.Helper()
	b, err := NewBatch(Ref{Tenant: "t", Conversation: "c"}, time.Now(), []Row{Titled{ID: id}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWritersThatGatherShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := Combiner[string]{Commit: s.commit}
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				w, err := c.Append(t.Context(), "lane", batch(t, fmt.Sprint(i)))
				if err != nil || len(w) != 1 {
					t.Errorf("writer %d got %v, %v", i, w, err)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff([]int{1, 128, 71}, s.commits); diff != "" {
			t.Errorf("sizes of commits (+) against the wanted (-):\n%s", diff)
		}
		for i, key := range s.rows {
			if key != fmt.Sprint("title/", i) {
				t.Fatalf("row %d is %s: writers were overtaken", i, key)
			}
		}
		if len(c.lanes) != 0 {
			t.Errorf("%d lanes are left", len(c.lanes))
		}
	})
}

func TestARefusedBatchIsRefusedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{fail: func(b *Batch) error {
			if b.Encoded[0].Key == "title/3" {
				return refused("no")
			}
			return nil
		}}
		c := Combiner[string]{Commit: s.commit}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				_, err := c.Append(t.Context(), "lane", batch(t, fmt.Sprint(i)))
				if (chat.CodeOf(err) == chat.CodeInvalid) != (i == 3) || (err != nil) != (i == 3) {
					t.Errorf("writer %d got %v", i, err)
				}
			})
		}
		wg.Wait()
		if len(s.rows) != 5 {
			t.Errorf("%d rows were written, want 5", len(s.rows))
		}
	})
}

func TestAFaultOfTheStoreReachesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no connection")
		s := &store{fail: func(*Batch) error { return broken }}
		c := Combiner[string]{Commit: s.commit}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if _, err := c.Append(t.Context(), "lane", batch(t, fmt.Sprint(i))); !errors.Is(err, broken) {
					t.Errorf("writer %d got %v", i, err)
				}
			})
		}
		wg.Wait()
		if len(s.commits) != 2 {
			t.Errorf("%d commits were tried, want 2: nobody tries again what may have been written", len(s.commits))
		}
	})
}

// TestWhoGivesUpHoldsUpNobody cancels every second writer at random moments.
func TestWhoGivesUpHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := Combiner[string]{Commit: s.commit}
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%2 == 0 {
					time.AfterFunc(time.Duration(i*97%4000)*time.Millisecond, cancel)
				}
				time.Sleep(time.Duration(i*61%3000) * time.Millisecond)
				_, err := c.Append(ctx, "lane", batch(t, fmt.Sprint(i)))
				if err != nil && (i%2 == 1 || !errors.Is(err, context.Canceled)) {
					t.Errorf("writer %d got %v", i, err)
				}
			})
		}
		wg.Wait()
		if len(c.lanes) != 0 {
			t.Errorf("%d lanes are left", len(c.lanes))
		}
	})
}
