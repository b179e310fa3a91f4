//go:build services

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/journal"
)

// load is people at work: each opens conversations, one after another, and says a few things in
// each.
type load struct {
	*world
	seed    uint64
	ledger  *ledger
	clients []*process
	until   time.Time
	// shapes are what messages ask for; nil means all.
	shapes []string

	mu    sync.Mutex
	convs []string
}

// everyShape is drawn from; those that bring many sub-agents are in it more often.
var everyShape = []string{
	shapeFan, shapeFan, shapeFan, shapeFan, shapeDeep, shapeDeep, shapeAsk, shapeBackground, shapeCancel, shapePlain,
}

// startClients makes the processes that people's messages go through.
func (l *load) startClients(n int) {
	for i := range n {
		p := l.play(fmt.Sprint("client", i), "client", l.ledger.heard)
		l.clients = append(l.clients, p)
		p.start()
	}
}

// run has people work until the time is over, and returns when each has come to an end or ctx is
// over.
func (l *load) run(ctx context.Context, people int) {
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			chance := rand.New(rand.NewPCG(l.seed, uint64(i)))
			for n := 0; time.Now().Before(l.until) && ctx.Err() == nil; n++ {
				l.talk(ctx, chance, i, fmt.Sprintf("p%dc%d", i, n))
			}
		})
	}
	wg.Wait()
}

// talk is one conversation.
func (l *load) talk(ctx context.Context, chance *rand.Rand, person int, conv string) {
	if !l.do(ctx, person, job{ID: conv + "o", Do: "open", Conv: conv}) {
		return
	}
	l.mu.Lock()
	l.convs = append(l.convs, conv)
	l.mu.Unlock()
	shapes := l.shapes
	if shapes == nil {
		shapes = everyShape
	}
	for n := range 1 + chance.IntN(3) {
		if time.Now().After(l.until) {
			return
		}
		id, shape := fmt.Sprintf("%sm%d", conv, n), shapes[chance.IntN(len(shapes))]
		text, pause := request(chance, shape, id), time.Duration(chance.IntN(1500))*time.Millisecond
		if !l.do(ctx, person, job{ID: id, Do: "say", Conv: conv, Text: text}) {
			return
		}
		later := chance.IntN(3) == 0
		switch {
		case shape == shapeCancel:
			wait(ctx, pause)
			l.do(ctx, person, job{ID: id + "x", Do: "cancel", Conv: conv})
		case later && shape != shapeAsk:
			wait(ctx, pause)
			l.do(ctx, person, job{ID: id + "y", Do: "say", Conv: conv, Text: "plain " + id + "y"})
		}
		if !l.quiet(ctx, conv) {
			return
		}
	}
}

// request is a message of a shape.
func request(chance *rand.Rand, shape, id string) string {
	n := 3 + chance.IntN(widest-2)
	switch shape {
	case shapeDeep, shapeAsk:
		n = 2 + chance.IntN(2)
	case shapePlain:
		return shapePlain + " " + id
	}
	return fmt.Sprintf("%s %d %s", shape, n, id)
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

// unrest says what is under way in a conversation, by its journal.
func (l *load) unrest(ctx context.Context, conv string) []string {
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// What is heard is read first: a message that comes in between begins a turn that is seen.
	heard, err := l.heard(short, conv)
	if err != nil {
		return []string{err.Error()}
	}
	s, err := l.node.Log.Snapshot(short, placeOf(conv))
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, t := range s.Tasks {
		open := t.FinishedAt.IsZero()
		if t.ID == durable.Root {
			open = t.Status != chat.StatusCompleted
		}
		if open {
			out = append(out, fmt.Sprintf("%s is %s %s", t.ID, t.Status, t.Reason))
		}
	}
	if heard < s.Conversation.Number {
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
	messages, err := l.node.Log.Transcript(ctx, placeOf(conv), durable.Root, journal.Page{Limit: journal.PageMaxLimit})
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

// isNotice tells what the core wrote from what a person said.
func isNotice(text string) bool {
	shape, _, _ := strings.Cut(text, " ")
	return !slices.Contains([]string{shapeTree, shapeMend, shapeLabour, shapeLate, shapeLinger, shapeStamps, shapeMends}, shape) && !slices.Contains(everyShape, shape)
}
