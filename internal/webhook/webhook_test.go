package webhook

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestSign compares a signature with the example of the Standard Webhooks.
func TestSign(t *testing.T) {
	got, err := Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0),
		[]byte(`{"test": 2432232314}`))
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if err != nil || got != want {
		t.Errorf("signed %s, want %s, %v", got, want, err)
	}
	for _, bad := range []string{"", "whsec_", "whsec_c2hvcnQ=", "secret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		if CheckSecret(bad) == nil {
			t.Errorf("took %q for a secret", bad)
		}
	}
	if err := CheckSecret(NewSecret()); err != nil {
		t.Error(err)
	}
}

// TestAgain lets every attempt fail.
func TestAgain(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	d := newDelivery(Hook{Tenant: "acme", ID: "h"}, "c1", Event{Type: "turn.completed", Seq: 7}, began)
	now, waits := began, []time.Duration{}
	for {
		d.Attempts++
		next, ok := again(d, now)
		if !ok {
			break
		}
		waits = append(waits, next.Sub(now).Round(time.Second))
		if !next.After(now) || len(waits) > 50 {
			t.Fatalf("it does not come to an end: %v", waits)
		}
		now = next
	}
	t.Log(waits)
	if !now.Equal(began.Add(24 * time.Hour)) {
		t.Errorf("the last attempt is after %s, want 24h", now.Sub(began))
	}
	if len(waits) < 8 || len(waits) > 20 || waits[0] > 7*time.Second { // not a bound: the time is made up
		t.Errorf("%d attempts: %v", len(waits), waits)
	}
}

// TestOneTenantLeavesRoomForOthers gives the hooks of one tenant all they ask for.
func TestOneTenantLeavesRoomForOthers(t *testing.T) {
	s := NewSender(SenderOptions{Client: http.DefaultClient})
	taken := 0
	for i := range 20 {
		taken += s.room(Hook{Tenant: "greedy", ID: strconv.Itoa(i)})
	}
	if taken != mostPerTenant {
		t.Errorf("one tenant has %d of %d places", taken, mostSent)
	}
	other := Hook{Tenant: "other", ID: "1"}
	if n := s.room(other); n != mostPerHook {
		t.Errorf("another tenant has %d places", n)
	}
	s.leave(other, mostPerHook)
	s.leave(Hook{Tenant: "greedy", ID: "0"}, mostPerHook)
	if n := s.room(Hook{Tenant: "greedy", ID: "19"}); n != mostPerHook {
		t.Errorf("what was left is not given again: %d", n)
	}
}

// onRecord is a journal of one row.
type onRecord struct {
	journal.Reader
	row journal.Row
}

func (r onRecord) Entries(_ context.Context, _ journal.Ref, after int64, _ int) ([]journal.Entry, error) {
	return []journal.Entry{{Seq: after + 1, Row: r.row}}, nil
}

// TestAnEventOfANewerBuildIsLeftToIt has an event to send that a newer build has put on the list.
// It is tried again, until a build that knows it has it; the conversation does not count as
// deleted.
func TestAnEventOfANewerBuildIsLeftToIt(t *testing.T) {
	s := NewSender(SenderOptions{
		Client: http.DefaultClient, Log: onRecord{row: journal.Newer{Of: "hailed", Body: []byte(`{}`)}},
		Events: func(string, journal.Entry) (Event, bool) { return Event{}, false },
	})
	if _, err := s.body(t.Context(), Delivery{Tenant: "acme", Conversation: "c", Seq: 7}); err == nil || chat.CodeOf(err) == chat.CodeNotFound {
		t.Errorf("the event is given up: %v", err)
	}
}
