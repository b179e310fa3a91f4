//go:build services

package api_test

import (
	"context"
	"net/http"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

// The parts of a server, broken on purpose for TestTenancyNotices.

// leaky looks for what it does not find in the other tenant.
type leaky struct {
	journal.Log
	m *matrix
}

func (l leaky) Snapshot(ctx context.Context, ref journal.Ref) (journal.Snapshot, error) {
	s, err := l.Log.Snapshot(ctx, ref)
	if err != nil {
		ref.Tenant = l.m.other
		s, err = l.Log.Snapshot(ctx, ref)
	}
	return s, err
}

// hashed has texts of one kind for everybody who knows their hash.
type hashed struct {
	journal.Log
	m    *matrix
	kind string
}

func (l hashed) Text(ctx context.Context, ref journal.Ref, hash string) (string, error) {
	if theirs := l.m.things["foreign"]; hash == theirs[l.kind] {
		ref = journal.Ref{Tenant: l.m.other, Conversation: theirs["conversation"]}
	}
	return l.Log.Text(ctx, ref, hash)
}

// spender knows what the other tenant has spent only.
type spender struct {
	journal.Log
	m *matrix
}

func (l spender) Spent(ctx context.Context, _, month string) (int64, error) {
	return l.Log.Spent(ctx, l.m.other, month)
}

// elsewhere lists the other tenant's workspaces.
type elsewhere struct {
	places
	m *matrix
}

func (e elsewhere) Workspaces(ctx context.Context, caller admission.Caller) ([]wire.WorkspaceInfo, error) {
	caller.Tenant, e.places.people = e.m.other, e.m.people // the world has them by now
	return e.places.Workspaces(ctx, caller)
}

// leakyEntries looks for entries in the other tenant as well.
type leakyEntries struct{ leaky }

func (l leakyEntries) Find(ctx context.Context, ref journal.Ref, keys ...string) ([]journal.Entry, error) {
	found, err := l.Log.Find(ctx, ref, keys...)
	if err != nil || len(found) == 0 {
		ref.Tenant = l.m.other
		found, err = l.Log.Find(ctx, ref, keys...)
	}
	return found, err
}

func (l leakyEntries) Entries(ctx context.Context, ref journal.Ref, after int64, limit int) ([]journal.Entry, error) {
	found, err := l.Log.Entries(ctx, ref, after, limit)
	if err != nil || len(found) == 0 {
		ref.Tenant = l.m.other
		found, err = l.Log.Entries(ctx, ref, after, limit)
	}
	return found, err
}

// indiscreet reads for nobody in particular.
type indiscreet struct{ journal.Log }

func (l indiscreet) Snapshot(ctx context.Context, ref journal.Ref) (journal.Snapshot, error) {
	return l.Log.Snapshot(journal.For(ctx, ""), ref)
}

// chatty says of a foreign conversation that it may not be seen.
type chatty struct {
	journal.Log
	m *matrix
}

func (l chatty) Snapshot(ctx context.Context, ref journal.Ref) (journal.Snapshot, error) {
	s, err := l.Log.Snapshot(ctx, ref)
	if ref.Tenant = l.m.other; err != nil {
		if _, there := l.Log.Snapshot(ctx, ref); there == nil {
			err = &chat.Error{Code: chat.CodeDenied, Message: "it is not yours"}
		}
	}
	return s, err
}

// generous makes everybody an owner.
type generous struct{ admission.Authenticator }

func (g generous) Identify(r *http.Request) (admission.Caller, error) {
	c, err := g.Authenticator.Identify(r)
	c.Role = people.RoleOwner
	return c, err
}
