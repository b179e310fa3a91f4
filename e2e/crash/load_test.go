//go:build services

package crash

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// load is the requests to a world, through processes that may be killed, with their ledger.
type load struct {
	*world
	ledger  *ledger
	clients []*process

	mu    sync.Mutex
	convs []string
}

// startClients makes the processes that people's messages go through: clients or callers.
func (l *load) startClients(what string, n int) {
	for i := range n {
		p := l.play(fmt.Sprint(what, i), what, l.ledger.heard)
		l.clients = append(l.clients, p)
		p.start()
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// do has a client do a job, and another if that one is killed, until one says that it is done.
func (l *load) do(ctx context.Context, person int, j job) bool {
	acked := l.ledger.ask(j)
	for try := 0; ; try++ {
		p := l.clients[(person+try)%len(l.clients)]
		p.mu.Lock()
		exited := p.exited
		p.mu.Unlock()
		p.write(j)
		select {
		case <-acked:
			return true
		case <-exited:
			wait(ctx, 50*time.Millisecond)
		case <-ctx.Done():
			return false
		}
	}
}

// quiet waits until nothing is under way in a conversation.
func (l *load) quiet(ctx context.Context, conv string) bool {
	for ctx.Err() == nil {
		if len(l.unrest(ctx, conv)) == 0 {
			return true
		}
		wait(ctx, 200*time.Millisecond)
	}
	return false
}

// unrest lists the work under way in a conversation, by its journal.
func (l *load) unrest(ctx context.Context, conv string) []string {
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// The count of heard messages is read first: a message that comes in between begins a turn that is
	// seen.
	heard, err := l.heard(short, conv)
	if err != nil {
		return []string{err.Error()}
	}
	s, err := l.node.Log.Snapshot(short, placeOf(conv))
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	unfinished := map[string]bool{}
	for _, t := range s.Tasks {
		open := t.FinishedAt.IsZero()
		if t.ID == host.Root {
			// Somebody may have begun a conversation and gone before they said anything.
			open = t.Status != chat.StatusCompleted && s.Conversation.Number > 0
		}
		if open {
			out, unfinished[t.ID] = append(out, fmt.Sprintf("%s is %s %s", t.ID, t.Status, t.Reason)), true
		}
	}
	for _, q := range s.Questions {
		if unfinished[q.Task] { // an end that its waiter missed differs from an end that never came
			out = append(out, fmt.Sprintf("question %s is %s, answered by %q", q.ID, q.Status, q.By))
		}
	}
	if heard += l.ledger.answers(conv); heard < s.Conversation.Number {
		out = append(out, fmt.Sprintf("message %d of %d is not heard", heard, s.Conversation.Number))
	}
	return out
}

// heard counts the messages of people that are in the orchestrator's transcript.
func (l *load) heard(ctx context.Context, conv string) (int64, error) {
	texts, err := l.letters(ctx, conv)
	n := int64(0)
	for _, text := range texts {
		if !isNotice(text) {
			n++
		}
	}
	return n, err
}

// letters are the texts from the user's side in the orchestrator's transcript.
func (l *load) letters(ctx context.Context, conv string) ([]string, error) {
	messages, err := l.node.Log.Transcript(ctx, placeOf(conv), host.Root, journal.Page{Limit: journal.PageMaxLimit})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range messages {
		if m.Speaker != chat.User {
			continue
		}
		for _, p := range m.Parts {
			if p.Kind == chat.PartText {
				out = append(out, p.Text)
			}
		}
	}
	return out, nil
}

// isNotice distinguishes the core's notices from a person's messages.
func isNotice(text string) bool {
	shape, _, _ := strings.Cut(text, " ")
	return !slices.Contains([]string{shapeTree, shapeMend, shapeLabour, shapeLate, shapeLinger, shapeStamps, shapeMends, shapeAttend, shapeEndless, shapeBrief}, shape) &&
		!slices.Contains(everyShape, shape)
}
