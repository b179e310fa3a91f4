package bridge

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
)

// brisk carries commands out, and the orchestrator has begun to answer before they return.
type brisk struct {
	apitest.Commands
	answer func()
}

// Say implements api.Commands.
func (b brisk) Say(ctx context.Context, ref journal.Ref, s api.Said) error {
	defer b.answer()
	return b.Commands.Say(ctx, ref, s)
}

// Decide implements api.Commands.
func (b brisk) Decide(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) error {
	defer b.answer()
	return b.Commands.Decide(ctx, ref, d)
}

var errEnough = errors.New("a message is on record")

// enough ends watching once a message is on record.
func enough(n News) error {
	if n.Whole != "" {
		return errEnough
	}
	return nil
}

// TestWhatIsSaidAtOnceIsHeard lets the first words of an answer be on their way before anybody can
// watch. Without them, nothing more of it could be told.
func TestWhatIsSaidAtOnceIsHeard(t *testing.T) {
	for name, give := range map[string]func(*room, context.Context, *Service) (*UserTurn, error){
		"a message": func(_ *room, ctx context.Context, h *Service) (*UserTurn, error) {
			return h.Post(ctx, Message{Key: "key-1", Text: "And?", Conversation: "c"})
		},
		"an answer": func(r *room, ctx context.Context, h *Service) (*UserTurn, error) {
			x := r.find("m1")
			return x, h.Answer(ctx, x, "key-1", "Yes.")
		},
		"a decision": func(r *room, ctx context.Context, h *Service) (*UserTurn, error) {
			r.write(journal.ApprovalRequested{In: r.main, Call: "1", Tool: "shell", Hash: "h"})
			x := r.find("m1")
			return x, h.Decide(ctx, x, "key-1", api.Verdict{Approval: events.ApprovalID("main", "1"), Hash: "h", Allow: true, Scope: "once"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			inside, service := r.counter(brisk{apitest.Commands{Log: r.log}, func() { r.delta(0, "Be") }})
			ctx, stop := context.WithTimeout(inside, time.Minute)
			defer stop()
			x, err := give(r, ctx, service)
			if err != nil {
				t.Fatal(err)
			}
			r.delta(2, "cause")
			var got []News
			_, err = x.Watch(ctx, func(n News) error {
				if n.Message != "" {
					got = append(got, n)
				}
				if n.Text == "cause" {
					r.reply(1, "Because.")
				}
				return enough(n)
			})
			if !errors.Is(err, errEnough) {
				t.Error(err)
			}
			want := []News{{Message: "t1", Text: "Be"}, {Message: "t1", Text: "cause"}, {Message: "t1", Text: ".", Whole: "Because."}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestASummaryThatIsOverIsNotTold has the model sum up and continue before anybody watches.
func TestASummaryThatIsOverIsNotTold(t *testing.T) {
	r := newRoom(t)
	inside, service := r.counter(apitest.Commands{Log: r.log})
	ctx, stop := context.WithTimeout(inside, time.Minute)
	defer stop()
	x, err := service.Post(ctx, Message{Key: "key-1", Text: "And?", Conversation: "c"})
	if err != nil {
		t.Fatal(err)
	}
	r.write(journal.ModelCalled{In: r.main, Call: "1.1", Type: journal.RequestCompaction, Turn: 1})
	r.delta(0, "They spoke of the sea.")
	r.write(journal.ModelCalled{In: r.main, Call: "2.1", Type: journal.RequestContinuation, Turn: 2})
	<-r.bus.joined // by the post
	go func() {
		<-r.bus.joined // by the watcher
		r.write(journal.MessageAdded{In: r.main, Turn: 2, Message: chat.Message{ID: "t2", Speaker: chat.Assistant, Parts: words("Because.")}})
	}()
	var got []News
	_, err = x.Watch(ctx, func(n News) error {
		if n.Message != "" {
			got = append(got, n)
		}
		return enough(n)
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
	if diff := cmp.Diff([]News{{Message: "t2", Text: "Because.", Whole: "Because."}}, got); diff != "" {
		t.Error(diff)
	}
}
