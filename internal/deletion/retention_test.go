package deletion_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/deletion"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
)

var now = time.UnixMilli(1_800_000_000_000).UTC()

// shelf is a journal with conversations of some ages, and their fates.
type shelf struct {
	journal.Log
	mu      sync.Mutex
	deleted []string
	by      []string
	// stuck are those that cannot be deleted.
	stuck map[string]bool
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "journal.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return &shelf{Log: log, stuck: map[string]bool{}}
}

func (s *shelf) add(t *testing.T, tenant, id string, age time.Duration) {
	t.Helper()
	if _, err := s.Append(t.Context(), journal.Ref{Tenant: tenant, Conversation: id}, now.Add(-age), journal.Opened{By: "ann"}); err != nil {
		t.Fatal(err)
	}
}

func (s *shelf) delete(ctx context.Context, ref journal.Ref, _, by string) error {
	if s.stuck[ref.Conversation] {
		return errors.New("it cannot be deleted")
	}
	if err := s.Erase(ctx, ref); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted = append(s.deleted, ref.Tenant+"/"+ref.Conversation)
	if actor := by + " " + audit.ActorOf(ctx).User; !slices.Contains(s.by, actor) {
		s.by = append(s.by, actor)
	}
	return nil
}

func (s *shelf) sweep(days map[string]int) *deletion.Sweep {
	return deletion.NewSweep(deletion.SweepOptions{
		Log: s, Delete: s.delete, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
		Tenants: func(context.Context) ([]string, error) { return []string{"acme", "bolt", "core"}, nil },
		Days:    func(_ context.Context, tenant string) (int, error) { return days[tenant], nil },
	})
}

const day = 24 * time.Hour

func TestRetentionDeletesWhatIsTooOld(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for _, tenant := range []string{"acme", "bolt", "core"} {
		s.add(t, tenant, "young", 6*day)
		s.add(t, tenant, "middle", 8*day)
		s.add(t, tenant, "old", 40*day)
	}
	done, left, err := s.sweep(map[string]int{"acme": 7, "bolt": 30}).Pass(t.Context())
	if done != 3 || left || err != nil {
		t.Errorf("%d deleted, some left: %t, %v", done, left, err)
	}
	if diff := cmp.Diff([]string{"acme/middle", "acme/old", "bolt/old"}, s.deleted); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"retention retention"}, s.by); diff != "" {
		t.Error(diff)
	}
}

// TestRetentionIsNotHeldUp has more conversations that cannot be deleted than one pass looks at,
// and a tenant after theirs.
func TestRetentionIsNotHeldUp(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for n := range 250 {
		id := fmt.Sprintf("c%03d", n)
		s.add(t, "acme", id, 40*day)
		s.stuck[id] = n < 120
	}
	s.add(t, "bolt", "old", 40*day)
	sweep := s.sweep(map[string]int{"acme": 7, "bolt": 7})
	done, left, err := sweep.Pass(t.Context())
	if done != 1 || !left || err == nil || !slices.Contains(s.deleted, "bolt/old") {
		t.Errorf("%d deleted in the first pass, some left: %t, %v", done, left, err)
	}
	for range 2 {
		_, _, _ = sweep.Pass(t.Context()) // it complains of those that it comes to
	}
	if len(s.deleted) != 131 {
		t.Errorf("%d were deleted, want the 130 behind those that cannot be, and the other tenant's", len(s.deleted))
	}
	s.stuck = map[string]bool{}
	for range 2 {
		if _, _, err := sweep.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.deleted) != 251 {
		t.Errorf("%d were deleted after all could be, want 251", len(s.deleted))
	}
}

// TestRetentionByManyAtOnce has several servers sweep at the same time: each conversation is
// deleted, and nobody complains.
func TestRetentionByManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for n := range 60 {
		s.add(t, "acme", fmt.Sprintf("c%03d", n), 40*day)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, _, err := s.sweep(map[string]int{"acme": 7}).Pass(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(s.deleted) != 60 {
		t.Errorf("%d were deleted, want each of 60 once", len(s.deleted))
	}
}

// TestRetentionSparesWhoComesBack has a person write to a conversation after the list was read.
func TestRetentionSparesWhoComesBack(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.add(t, "acme", "a", 40*day)
	s.add(t, "acme", "b", 40*day)
	sweep := deletion.NewSweep(deletion.SweepOptions{
		Log: s, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
		Delete: func(ctx context.Context, ref journal.Ref, id, by string) error {
			b := journal.Ref{Tenant: "acme", Conversation: "b"}
			if _, err := s.Append(ctx, b, now, journal.MessageReceived{ID: "m", By: "ann"}); err != nil {
				return err
			}
			return s.delete(ctx, ref, id, by)
		},
		Tenants: func(context.Context) ([]string, error) { return []string{"acme"}, nil },
		Days:    func(context.Context, string) (int, error) { return 7, nil },
	})
	if done, _, err := sweep.Pass(t.Context()); done != 1 || err != nil {
		t.Errorf("%d deleted, %v", done, err)
	}
	if diff := cmp.Diff([]string{"acme/a"}, s.deleted); diff != "" {
		t.Error(diff)
	}
}

func TestShortest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ installation, tenant, want int }{{0, 0, 0}, {0, 9, 9}, {30, 0, 30}, {30, 9, 9}, {30, 90, 30}} {
		if got := deletion.Shortest(c.installation, c.tenant); got != c.want {
			t.Errorf("of %d and %d: %d, want %d", c.installation, c.tenant, got, c.want)
		}
	}
}
