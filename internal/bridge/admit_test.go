package bridge

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
)

// newCounter is a service whose server carries out one command at a time, and a caller that is
// logged in.
func newCounter(t *testing.T) (context.Context, *Service) {
	t.Helper()
	r := newRoom(t)
	r.write(journal.ApprovalRequested{In: r.main, Call: "1", Tool: "shell", Hash: "h"})
	return r.counter(apitest.Commands{Log: r.log})
}

// counter is a service that carries out these commands, one at a time, and a caller that is logged
// in.
func (r *room) counter(commands api.Commands) (context.Context, *Service) {
	t := r.t
	t.Helper()
	server := api.New(api.Options{
		Options: admission.Options{
			Limits: admission.Limits{Commands: 1}, Authenticator: identity.Local{Tenant: "t", User: "ada", Token: "rtl_bridge"},
		},
		Log: r.log, Bus: r.bus, Commands: commands,
	})
	t.Cleanup(server.Close)
	var inside context.Context
	server.Mount(api.Mounted{
		Access: admission.AccessCommand, Method: http.MethodPost, Path: "/enter",
		Handle: func(_ http.ResponseWriter, r *http.Request) { inside = context.WithoutCancel(r.Context()) },
	})
	enter := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/enter", nil)
	enter.Header.Set("Authorization", "Bearer rtl_bridge")
	server.ServeHTTP(httptest.NewRecorder(), enter)
	if inside == nil {
		t.Fatal("nobody was let in")
	}
	return inside, New(Options{Server: server, Log: r.log, Bus: r.bus, Poll: time.Hour})
}

// TestMessagesAreAdmittedLikeCommands sends a message while the server is fully loaded, and then
// again.
func TestMessagesAreAdmittedLikeCommands(t *testing.T) {
	ctx, service := newCounter(t)
	inner, leave, err := service.commander.Admit(ctx)
	if _, bounded := inner.Deadline(); err != nil || !bounded {
		t.Fatalf("the first is not admitted: %v", err)
	}
	m := Message{Key: "key-1", Text: "Hello", Conversation: "c"}
	_, err = service.Post(ctx, m)
	if p, ok := errors.AsType[*admission.Problem](err); !ok || p.Code != "unavailable" || p.Wait <= 0 {
		t.Errorf("a second one: %v", err)
	}
	leave()
	x, err := service.Post(ctx, m)
	if err != nil || x.Asked != "Hello" {
		t.Errorf("the same once there is room: %+v, %v", x, err)
	}
	_, leave, err = service.commander.Admit(ctx)
	if err != nil {
		t.Errorf("a client that waits for an answer is in the way: %v", err)
	}
	leave()
}

// TestOtherWiresHaveTheLimitsOfTheDocument sends more than its routes would take.
func TestOtherWiresHaveTheLimitsOfTheDocument(t *testing.T) {
	ctx, service := newCounter(t)
	x, err := service.Post(ctx, Message{Key: "key-1", Text: strings.Repeat("ä", 200_000), Conversation: "c"})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 129)
	_, place := service.Post(ctx, Message{Key: "key-2", Text: "Hello", Conversation: long})
	_, named := service.Find(ctx, Name{Conversation: long, Message: "m"})
	_, listed := service.Names(ctx, long, 1)
	_, text := service.Post(ctx, Message{Key: "key-3", Text: strings.Repeat("ä", 200_001), Conversation: "c"})
	approval := events.ApprovalID("main", "1")
	for what, err := range map[string]error{
		"an id": place, "an id to find": named, "an id to list": listed, "a text": text,
		"an answer": service.Answer(ctx, x, "key-4", strings.Repeat("a", 200_001)),
		"a note": service.Decide(ctx, x, "key-5", api.Verdict{
			Approval: approval, Hash: "h", Scope: "once", Note: strings.Repeat("n", 2_001),
		}),
	} {
		if p, ok := errors.AsType[*admission.Problem](err); !ok || p.Code != string(chat.CodeInvalid) {
			t.Errorf("%s that is too long: %v", what, err)
		}
	}
}
