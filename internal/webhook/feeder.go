package webhook

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Tenant is one that has hooks.
type Tenant struct {
	ID string
	// Swept is when its conversations were last looked through.
	Swept time.Time
}

// ErrMoved says that another feeder was here first.
var ErrMoved = errors.New("webhook: another feeder read on")

// Cursors is how far a feeder has read.
type Cursors interface {
	Tenants(ctx context.Context) ([]Tenant, error)
	Swept(ctx context.Context, tenant string, at time.Time) error
	// Cursor is how far a conversation was read.
	Cursor(ctx context.Context, tenant, conversation string) (int64, error)
	// Enqueue puts deliveries into the outbox and moves the cursor, both or none. ErrMoved if the
	// cursor is not at from.
	Enqueue(ctx context.Context, tenant, conversation string, from, to int64, list []Delivery) error
	// Watch has a conversation looked at until a time, although it will be off the list. It does
	// nothing for a tenant without hooks. Watched are those.
	Watch(ctx context.Context, tenant, conversation string, until time.Time) error
	Watched(ctx context.Context, tenant string, now time.Time) ([]string, error)
	// Forget drops the cursor of a conversation that was deleted. Prune drops deliveries that ended and
	// were made before a time.
	Forget(ctx context.Context, tenant, conversation string) error
	Prune(ctx context.Context, tenant string, before time.Time) error
}

// FeederOptions are what a feeder is made of.
type FeederOptions struct {
	Places Cursors
	Book   Book
	Log    journal.Log
	Events Events
	Now    func() time.Time
	Logger *slog.Logger
	// Every is the time between two looks that no notice asks for; zero means a second.
	Every time.Duration
	// Fed is called when deliveries were added; nil if this process sends none.
	Fed func()
}

// Feeder puts what happens into the outbox. Any number of processes may have one.
type Feeder struct {
	o     FeederOptions
	woken chan struct{}
	// read is how far conversations are known to have been read, so that the database is not asked.
	read map[journal.Ref]int64
	// rounds counts looks.
	rounds int
}

const (
	feedEvery = time.Second
	feedPage  = 500
	listPage  = 100
	// overlap is how far the clocks of processes may be apart.
	overlap = 5 * time.Minute
	// watchFor is how long a conversation that was archived is still looked at, and watchRounds how
	// seldom.
	watchFor    = 24 * time.Hour
	watchRounds = 10
	// markEvery is how often it is noted how far conversations were looked through, in rounds, and
	// pruneRounds how often old deliveries are dropped.
	markRounds  = 60
	pruneRounds = 3600
	keepFor     = 30 * 24 * time.Hour
	// mostRead bounds the memory.
	mostRead = 100_000
)

// NewFeeder makes a feeder.
func NewFeeder(o FeederOptions) *Feeder {
	if o.Every == 0 {
		o.Every = feedEvery
	}
	return &Feeder{o: o, woken: make(chan struct{}, 1), read: map[journal.Ref]int64{}}
}

// Wake has it look at once.
func (f *Feeder) Wake() {
	select {
	case f.woken <- struct{}{}:
	default: // it is about to look
	}
}

// Watch is called before a conversation leaves the list, so that none of its events is missed.
func (f *Feeder) Watch(ctx context.Context, ref journal.Ref) error {
	return f.o.Places.Watch(ctx, ref.Tenant, ref.Conversation, f.o.Now().Add(watchFor))
}

// Run feeds until ctx ends.
func (f *Feeder) Run(ctx context.Context) {
	ticker := time.NewTicker(f.o.Every)
	defer ticker.Stop()
	for {
		if err := f.Look(ctx); err != nil && ctx.Err() == nil {
			f.o.Logger.WarnContext(ctx, "webhooks will be fed later", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.woken:
		}
	}
}

// Look reads everything that happened since the last look.
func (f *Feeder) Look(ctx context.Context) error {
	tenants, err := f.o.Places.Tenants(ctx)
	if err != nil {
		return err
	}
	if len(f.read) > mostRead {
		clear(f.read)
	}
	for _, t := range tenants {
		err = errors.Join(err, f.tenant(ctx, t))
	}
	f.rounds++
	return err
}

func (f *Feeder) tenant(ctx context.Context, t Tenant) error {
	now := f.o.Now()
	hooks, err := f.o.Book.Hooks(ctx, t.ID)
	if err != nil || len(hooks) == 0 {
		return err
	}
	if err := f.list(ctx, t, hooks); err != nil {
		return err
	}
	if f.rounds%watchRounds == 0 {
		ids, err := f.o.Places.Watched(ctx, t.ID, now)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := f.conversation(ctx, journal.Ref{Tenant: t.ID, Conversation: id}, hooks); err != nil {
				return err
			}
		}
	}
	if f.rounds%pruneRounds == 0 {
		if err := f.o.Places.Prune(ctx, t.ID, now.Add(-keepFor)); err != nil {
			return err
		}
	}
	if f.rounds%markRounds == 0 {
		return f.o.Places.Swept(ctx, t.ID, now)
	}
	return nil
}

// list reads the conversations that were written to since the last look, the latest first.
func (f *Feeder) list(ctx context.Context, t Tenant, hooks []Hook) error {
	page := journal.Page{Limit: listPage}
	for {
		list, err := f.o.Log.Conversations(ctx, t.ID, page)
		if err != nil {
			return err
		}
		for _, c := range list {
			if c.UpdatedAt.Before(t.Swept.Add(-overlap)) {
				return nil
			}
			ref := journal.Ref{Tenant: t.ID, Conversation: c.ID}
			if c.Seq <= f.read[ref] {
				continue
			}
			if err := f.conversation(ctx, ref, hooks); err != nil {
				return err
			}
		}
		if len(list) < listPage {
			return nil
		}
		page.Cursor = list[len(list)-1].Cursor()
	}
}

// conversation reads one on from where it was read to.
func (f *Feeder) conversation(ctx context.Context, ref journal.Ref, hooks []Hook) error {
	at, err := f.o.Places.Cursor(ctx, ref.Tenant, ref.Conversation)
	if err != nil {
		return err
	}
	for {
		entries, err := f.o.Log.Entries(ctx, ref, at, feedPage)
		if chat.CodeOf(err) == chat.CodeNotFound {
			delete(f.read, ref)
			return f.o.Places.Forget(ctx, ref.Tenant, ref.Conversation)
		}
		if err != nil || len(entries) == 0 {
			f.read[ref] = at
			return err
		}
		to := entries[len(entries)-1].Seq
		list, err := f.deliveries(ctx, ref, entries, hooks)
		if err != nil {
			return err
		}
		err = f.o.Places.Enqueue(ctx, ref.Tenant, ref.Conversation, at, to, list)
		if errors.Is(err, ErrMoved) {
			return nil // it is in good hands
		}
		if err != nil {
			return err
		}
		if len(list) > 0 && f.o.Fed != nil {
			f.o.Fed()
		}
		at = to
	}
}

// deliveries are the deliveries of entries to hooks: none while the conversation is private.
func (f *Feeder) deliveries(ctx context.Context, ref journal.Ref, entries []journal.Entry, hooks []Hook) ([]Delivery, error) {
	lines, err := f.o.Log.Lines(ctx, ref.Tenant, ref.Conversation)
	if err != nil || lines[ref.Conversation].PrivateTo != "" {
		return nil, err
	}
	var out []Delivery
	for _, entry := range entries {
		e, ok := f.o.Events(ref.Conversation, entry)
		if !ok {
			continue
		}
		for _, h := range hooks {
			if h.wants(e) {
				out = append(out, newDelivery(h, ref.Conversation, e, f.o.Now()))
			}
		}
	}
	return out, nil
}
