package deletion_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/deletion"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/people"
)

// leaving is an installation some of whose tenants are being deleted, and all that was done to
// them, in order.
type leaving struct {
	log  *shelf
	list []people.Deletion
	at   time.Time
	did  []string
	// broken are the tenants of which something cannot be wiped.
	broken map[string]bool
}

func newLeaving(list ...people.Deletion) *leaving {
	return &leaving{log: &shelf{Log: journaltest.NewMemory(), stuck: map[string]bool{}}, list: list, at: now, broken: map[string]bool{}}
}

func (l *leaving) tenants() *deletion.Tenants {
	return deletion.NewTenants(deletion.TenantOptions{
		People: register{leaving: l}, Log: l.log, Delete: l.log.delete, Now: func() time.Time { return l.at }, Logger: slog.New(slog.DiscardHandler),
		Wipe: []func(context.Context, string) error{
			func(_ context.Context, tenant string) error {
				if l.broken[tenant] {
					return errors.New(tenant + " cannot be wiped")
				}
				l.did = append(l.did, "wipe "+tenant)
				return nil
			},
		},
		Certify: func(_ context.Context, tenant string) error { l.did = append(l.did, "certify "+tenant); return nil },
	})
}

// look continues the deletions and fails the test after an error.
func (l *leaving) look(t *testing.T, tenants *deletion.Tenants) {
	t.Helper()
	if err := tenants.Look(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTenantsAreDeletedInOrder follows one deletion. The conversations are deleted, then the data
// beside them once all work under way has ended. Then the certificate is written, and the tenant
// itself goes last. Another tenant keeps everything.
func TestTenantsAreDeletedInOrder(t *testing.T) {
	l := newLeaving(people.Deletion{Tenant: "acme", By: "ann", Source: "api", At: now})
	for _, id := range []string{"a", "b"} {
		l.log.add(t, "acme", id, day)
		l.log.add(t, "bolt", id, 90*day)
	}
	tenants := l.tenants()
	l.look(t, tenants)
	want := []string{"acme/a", "acme/b"}
	if diff := cmp.Diff(want, l.log.deleted); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ann ann"}, l.log.by); diff != "" {
		t.Error(diff)
	}
	l.at = now.Add(19 * time.Second)
	l.look(t, tenants)
	if len(l.did) > 0 {
		t.Errorf("before all that was under way has ended: %q", l.did)
	}
	l.log.add(t, "acme", "late", 0) // it was under way when the deletion began
	l.at = now.Add(21 * time.Second)
	l.look(t, tenants)
	if len(l.did) > 0 {
		t.Errorf("with a conversation that came late: %q", l.did)
	}
	for range 2 {
		l.look(t, tenants)
	}
	if diff := cmp.Diff([]string{"wipe acme", "certify acme", "end acme"}, l.did); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(append(want, "acme/late"), l.log.deleted); diff != "" {
		t.Error(diff)
	}
}

// TestTenantsDoNotHoldUpEachOther has a tenant with a conversation that cannot be deleted, one with
// data that cannot be wiped, and one without obstacles. The last is deleted, and the others stop at
// their obstacle.
func TestTenantsDoNotHoldUpEachOther(t *testing.T) {
	past := now.Add(-time.Hour)
	l := newLeaving(people.Deletion{Tenant: "acme", At: past}, people.Deletion{Tenant: "bolt", At: past}, people.Deletion{Tenant: "core", At: past})
	l.log.add(t, "acme", "stuck", day)
	l.log.stuck["stuck"] = true
	l.broken["bolt"] = true
	err := l.tenants().Look(t.Context())
	if err == nil || err.Error() != "it cannot be deleted\nbolt cannot be wiped" {
		t.Errorf("it complains of %v", err)
	}
	if diff := cmp.Diff([]string{"wipe core", "certify core", "end core"}, l.did); diff != "" {
		t.Error(diff)
	}
}

// TestLargeTenantsAreDeletedInParts has more conversations than one look deletes. The first cannot
// be deleted, and nothing is wiped as long as it exists.
func TestLargeTenantsAreDeletedInParts(t *testing.T) {
	for all, want := range map[int][]int{500: {1, 1, 1}, 620: {121, 1, 1}} {
		l := newLeaving(people.Deletion{Tenant: "acme", At: now.Add(-time.Hour)})
		for n := range all {
			l.log.add(t, "acme", fmt.Sprintf("c%03d", n), day)
		}
		l.log.stuck["c000"] = true
		tenants := l.tenants()
		var left []int
		for range want {
			_ = tenants.Look(t.Context()) // it complains of the one that it cannot delete
			left = append(left, all-len(l.log.deleted))
		}
		if diff := cmp.Diff(want, left); diff != "" || len(l.did) > 0 {
			t.Errorf("of %d, left after each look (-want +got):\n%s\n%q", all, diff, l.did)
		}
		l.log.stuck = nil
		for range 3 {
			l.look(t, tenants)
		}
		if len(l.log.deleted) != all || strings.Join(l.did, ", ") != "wipe acme, certify acme, end acme" {
			t.Errorf("%d of %d deleted, and then %q", len(l.log.deleted), all, l.did)
		}
	}
}

// TestTenantsGoWithOthersAtIt has another process delete the conversation first: this is no error.
func TestTenantsGoWithOthersAtIt(t *testing.T) {
	l := newLeaving(people.Deletion{Tenant: "acme", At: now.Add(-time.Hour)})
	l.log.add(t, "acme", "a", day)
	other := l.tenants()
	tenants := deletion.NewTenants(deletion.TenantOptions{
		People: register{leaving: l}, Log: l.log, Now: func() time.Time { return now },
		Delete: func(ctx context.Context, ref journal.Ref, id, by string) error {
			if err := other.Look(ctx); err != nil {
				return err
			}
			return l.log.delete(ctx, ref, id, by)
		},
	})
	l.look(t, tenants)
	if diff := cmp.Diff([]string{"acme/a"}, l.log.deleted); diff != "" {
		t.Error(diff)
	}
}

// TestSweepsAndDeletionsRunOn lets both run: they look at once, and again after a while, also when
// a look went wrong.
func TestSweepsAndDeletionsRunOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeaving(people.Deletion{Tenant: "acme", At: now.Add(-time.Hour)})
		l.broken["acme"] = true
		l.log.add(t, "core", "old", 40*day)
		ctx, cancel := context.WithCancel(t.Context())
		go l.tenants().Run(ctx)
		go l.log.sweep(map[string]int{"core": 7}).Run(ctx)
		synctest.Wait()
		if diff := cmp.Diff([]string{"core/old"}, l.log.deleted); diff != "" || len(l.did) > 0 {
			t.Errorf("at once (-want +got):\n%s\n%q", diff, l.did)
		}
		l.broken["acme"] = false
		l.log.add(t, "core", "older", 41*day)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if diff := cmp.Diff([]string{"core/old", "core/older"}, l.log.deleted); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"wipe acme", "certify acme", "end acme"}, l.did); diff != "" {
			t.Error(diff)
		}
	})
}

// TestNobodyListsTenants cannot list the tenants to delete, or those with old conversations:
// nothing is deleted.
func TestNobodyListsTenants(t *testing.T) {
	gone := &chat.Error{Code: chat.CodeUnavailable, Message: "no database"}
	l := newLeaving()
	l.log.add(t, "acme", "old", 40*day)
	sweep := deletion.NewSweep(deletion.SweepOptions{
		Log: l.log, Delete: l.log.delete, Tenants: func(context.Context) ([]string, error) { return []string{"acme"}, gone },
	})
	if done, left, err := sweep.Pass(t.Context()); done > 0 || left || !errors.Is(err, gone) {
		t.Errorf("%d deleted, some left: %t, %v", done, left, err)
	}
	tenants := deletion.NewTenants(deletion.TenantOptions{People: register{err: gone}, Log: l.log, Delete: l.log.delete})
	if err := tenants.Look(t.Context()); !errors.Is(err, gone) || len(l.log.deleted) > 0 {
		t.Errorf("%v, deleted %q", err, l.log.deleted)
	}
}

// register is who is being deleted.
type register struct {
	embedded
	leaving *leaving
	err     error
}

func (r register) Deletions(context.Context) ([]people.Deletion, error) {
	if r.err != nil {
		return nil, r.err
	}
	return slices.Clone(r.leaving.list), nil
}

func (r register) EndDeletion(_ context.Context, tenant string) error {
	r.leaving.did = append(r.leaving.did, "end "+tenant)
	r.leaving.list = slices.DeleteFunc(r.leaving.list, func(d people.Deletion) bool { return d.Tenant == tenant })
	return nil
}

// embedded gives a register the methods that nothing here calls.
type embedded interface{ people.Deletions }
