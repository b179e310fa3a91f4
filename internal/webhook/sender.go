package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Outbox holds the deliveries to send.
type Outbox interface {
	Tenants(ctx context.Context) ([]Tenant, error)
	// Receivers are the hooks of a tenant, with the secrets that sign what they are sent.
	Receivers(ctx context.Context, tenant string) ([]Hook, error)
	// Claim takes out deliveries of a hook that are due, until a time; nobody else gets them before. It
	// counts an attempt.
	Claim(ctx context.Context, h Hook, now, until time.Time, limit int) ([]Delivery, error)
	// Report says what became of an attempt, unless another has begun since.
	Report(ctx context.Context, d Delivery) error
}

// SenderOptions are what a sender is made of.
type SenderOptions struct {
	Outbox Outbox
	Log    journal.Reader
	Events Events
	// Client decides where requests may go. Redirects are not followed, whatever it does with them.
	Client *http.Client
	Now    func() time.Time
	Logger *slog.Logger
	// Every is the time between two looks for deliveries that are due; zero means a second.
	Every time.Duration
	// Timeout is how long a receiver may take; zero means 15 seconds.
	Timeout time.Duration
	// Agent is how requests name this program.
	Agent string
}

// Sender sends the deliveries of the outbox. Any number of processes may have one; they share the
// work.
type Sender struct {
	o     SenderOptions
	woken chan struct{}
	group sync.WaitGroup

	mu sync.Mutex
	// busy counts the requests under way, to each hook and of each tenant.
	busy map[string]int
	all  int
}

const (
	sendEvery   = time.Second
	sendTimeout = 15 * time.Second
	// claimFor is how much longer than a request may take its delivery is nobody else's.
	claimFor = 30 * time.Second
	// mostPerHook keeps one slow receiver from holding up the others, mostPerTenant the receivers of
	// one tenant those of all others, and mostSent the process from being busy with nothing else.
	mostPerHook   = 4
	mostPerTenant = 16
	mostSent      = 64
	// mostAnswer is how much of an answer is read, so that the connection can be used again.
	mostAnswer = 64 << 10
)

// NewSender makes a sender.
func NewSender(o SenderOptions) *Sender {
	if o.Every == 0 {
		o.Every = sendEvery
	}
	if o.Timeout == 0 {
		o.Timeout = sendTimeout
	}
	client := *o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Client = &client
	return &Sender{o: o, woken: make(chan struct{}, 1), busy: map[string]int{}}
}

// Wake has it look at once.
func (s *Sender) Wake() {
	select {
	case s.woken <- struct{}{}:
	default: // it is about to look
	}
}

// Run sends until ctx ends, and waits for sendings under way.
func (s *Sender) Run(ctx context.Context) {
	ticker := time.NewTicker(s.o.Every)
	defer ticker.Stop()
	defer s.group.Wait()
	for {
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.WarnContext(ctx, "webhooks will be sent later", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.woken:
		}
	}
}

// look begins to send due deliveries, as far as the bounds allow.
func (s *Sender) look(ctx context.Context) error {
	tenants, err := s.o.Outbox.Tenants(ctx)
	if err != nil {
		return err
	}
	var failures error
	for _, t := range tenants {
		hooks, err := s.o.Outbox.Receivers(ctx, t.ID)
		failures = errors.Join(failures, err)
		for _, h := range hooks {
			failures = errors.Join(failures, s.hook(ctx, h))
		}
	}
	return failures
}

// hook begins to send one hook's due deliveries. A goroutine that has finished one takes the next.
func (s *Sender) hook(ctx context.Context, h Hook) error {
	room := s.room(h)
	if room == 0 || ctx.Err() != nil {
		return nil
	}
	now := s.o.Now()
	list, err := s.o.Outbox.Claim(ctx, h, now, now.Add(s.o.Timeout+claimFor), room)
	s.leave(h, room-len(list))
	for _, d := range list {
		s.group.Go(func() {
			s.one(context.WithoutCancel(ctx), h, d)
			s.leave(h, 1)
			if err := s.hook(ctx, h); err != nil && ctx.Err() == nil {
				s.o.Logger.WarnContext(ctx, "webhooks will be sent later", "error", err)
			}
		})
	}
	return err
}

// room is the rest of a hook's share.
func (s *Sender) room(h Hook) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := h.Tenant + "\x00" + h.ID
	n := max(0, min(mostPerHook-s.busy[key], mostPerTenant-s.busy[h.Tenant], mostSent-s.all))
	s.busy[key] += n
	s.busy[h.Tenant] += n
	s.all += n
	return n
}

func (s *Sender) leave(h Hook, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all -= n
	for _, key := range []string{h.Tenant, h.Tenant + "\x00" + h.ID} {
		if s.busy[key] -= n; s.busy[key] == 0 {
			delete(s.busy, key)
		}
	}
}

// one sends a delivery and reports its outcome. If the report is lost, it is sent again under the
// same id.
func (s *Sender) one(ctx context.Context, h Hook, d Delivery) {
	body, err := s.body(ctx, d)
	d.Tried, d.Code, d.Problem = s.o.Now(), 0, ""
	switch {
	case err == nil:
		d.Code, err = s.send(ctx, h, d, body)
		d = d.after(err, s.o.Now())
	case chat.CodeOf(err) == chat.CodeNotFound:
		d.Status, d.Problem = Gone, "the conversation was deleted"
	default:
		d = d.after(err, s.o.Now())
	}
	if err := s.o.Outbox.Report(ctx, d); err != nil {
		s.o.Logger.WarnContext(ctx, "a webhook may be sent twice", "conversation", d.Conversation, "delivery", d.ID, "error", err)
	}
}

// after is a delivery after an attempt.
func (d Delivery) after(err error, now time.Time) Delivery {
	if err == nil {
		d.Status = Delivered
		return d
	}
	d.Problem = problemOf(err)
	var goOn bool
	if d.Next, goOn = again(d, now); !goOn || d.Code == http.StatusGone {
		d.Status, d.Next = Failed, now
	}
	return d
}

// body makes the body of a delivery from the journal.
func (s *Sender) body(ctx context.Context, d Delivery) ([]byte, error) {
	ref := journal.Ref{Tenant: d.Tenant, Conversation: d.Conversation}
	entries, err := s.o.Log.Entries(ctx, ref, d.Seq-1, 1)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 || entries[0].Seq != d.Seq {
		return nil, journal.NotFound()
	}
	if row, newer := entries[0].Row.(journal.Newer); newer {
		return nil, fmt.Errorf("a newer build has to send it: the kind %q is unknown", row.Of)
	}
	e, ok := s.o.Events(d.Conversation, entries[0])
	if !ok {
		return nil, journal.NotFound()
	}
	return e.Body, nil
}

// send makes one request. Anything but a success is a failure.
func (s *Sender) send(ctx context.Context, h Hook, d Delivery, body []byte) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	now := s.o.Now()
	signature, err := Sign(h.Secret, d.ID, now, body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", s.o.Agent)
	r.Header.Set("Webhook-Id", d.ID)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("Webhook-Signature", signature)
	answer, err := s.o.Client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()                                           //nolint:errcheck // nothing in it matters
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer)) // nor whether all of it came
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return answer.StatusCode, fmt.Errorf("it answered %d", answer.StatusCode)
	}
	return answer.StatusCode, nil
}

// problemOf describes a failure in short, without any text of the receiver.
func problemOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took too long"
	}
	if own, ok := errors.AsType[*chat.Error](err); ok {
		return short(own.Message)
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err // the address is known, and may hold a secret
	}
	return short(err.Error())
}

func short(text string) string {
	const most = 300
	if len(text) > most {
		text = text[:most]
	}
	return journal.Printable(text)
}
