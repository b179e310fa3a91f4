//go:build services

package crash

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/wire"
)

var deletion = flag.Bool("deletion", false, "delete conversations in every state, under kills")

const (
	// goneWithin is how long a deleted conversation may take to be gone.
	goneWithin = 60 * time.Second
	// streamEndsWithin is how long a stream may stay open after that.
	streamEndsWithin = 30 * time.Second
	// races is how many conversations are deleted while people still write to them.
	races = 8
)

// eraser is a person who deletes conversations.
type eraser struct {
	*crowd
	t    *testing.T
	mu   sync.Mutex
	gone []string
	took map[string]time.Duration
}

// TestDelete deletes conversations while agents run, while a person is asked, when they rest and
// before they begin, twice, in the middle of a talk and under kills. Each ends with no rows and no
// run, and is not found afterwards.
func TestDelete(t *testing.T) {
	if !*deletion {
		t.Skip("run make crash/delete")
	}
	w := newWorld(t, worldOptions{Workers: 2, Servers: 2})
	for _, p := range w.proxies {
		p.calm.Store(true)
	}
	e := &eraser{t: t, took: map[string]time.Duration{}, crowd: newCrowd(w)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, p := range append(w.workers, w.servers...) {
		go w.supervise(ctx, p)
	}
	var wg sync.WaitGroup
	for name, play := range map[string]func(context.Context, string){
		"never started": e.neverStarted, "idle": e.idle, "running": e.running, "deep": e.deep, "approval": e.approval,
		"question": e.question, "twice": e.twice, "archived": e.archived, "erased below a worker": e.erasedBelow,
		"begun after its end": e.begunAfter,
	} {
		wg.Go(func() { play(ctx, name) })
	}
	for i := range races {
		wg.Go(func() { e.race(ctx, fmt.Sprint("race ", i)) })
	}
	wg.Wait()
	e.underKills(ctx)
	e.nothingLeft(ctx)
	for what, took := range e.took {
		t.Logf("%-24s gone after %v", what, took.Round(10*time.Millisecond))
	}
	e.reportAnswers(t)
}

// open begins a conversation and says something in it, if there is something to say.
func (e *eraser) open(ctx context.Context, name, text string) string {
	e.t.Helper()
	key := "delete-" + strings.ReplaceAll(name, " ", "-")
	var c wire.Conversation
	body := map[string]any{"title": name}
	if text != "" {
		body["message"] = text + " " + key
	}
	e.post(ctx, http.MethodPost, "/v1/conversations", key, body, &c)
	return c.ID
}

// post sends a command until it is answered.
func (e *eraser) post(ctx context.Context, method, path, key string, body, out any) {
	e.t.Helper()
	text, err := e.caller.persist(ctx, method, path, key, body, func(error) {})
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		e.t.Errorf("%s %s: %v", method, path, err)
	}
}

// until waits for something that the snapshot of a conversation will show.
func (e *eraser) until(ctx context.Context, conv, what string, holds func(wire.Snapshot) bool) {
	e.t.Helper()
	for deadline := time.Now().Add(goneWithin); time.Now().Before(deadline); wait(ctx, 100*time.Millisecond) {
		var state wire.Snapshot
		if err := e.caller.read(ctx, "/v1/conversations/"+conv, &state); err != nil {
			e.t.Errorf("%s: %v", what, err)
			return
		}
		if holds(state) {
			return
		}
	}
	e.t.Errorf("not after %s: %s", goneWithin, what)
}

// remove deletes a conversation and waits until it is gone, also for its watchers.
func (e *eraser) remove(ctx context.Context, name, conv string) {
	e.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		new(watch).stream(ctx, e.caller, conv, 0)
	}()
	began := time.Now()
	e.post(ctx, http.MethodDelete, "/v1/conversations/"+conv, "delete-"+conv, nil, nil)
	e.goes(ctx, name, conv, began)
	select {
	case <-ended:
	case <-time.After(streamEndsWithin):
		e.t.Errorf("%s: a stream of what is gone goes on", name)
	}
}

// goes waits until a conversation is gone.
func (e *eraser) goes(ctx context.Context, name, conv string, began time.Time) {
	e.t.Helper()
	for {
		var state wire.Snapshot
		err := e.caller.read(ctx, "/v1/conversations/"+conv, &state)
		if isGone(err) {
			break
		}
		if time.Since(began) > goneWithin {
			e.t.Errorf("%s still exists after %s: %v, %+v", name, goneWithin, err, state.Tasks)
			break
		}
		wait(ctx, 50*time.Millisecond)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = append(e.gone, conv)
	e.took[name] = time.Since(began)
}

func isGone(err error) bool {
	r := new(*refusal)
	return errors.As(err, r) && (*r).Status == http.StatusNotFound
}

func (e *eraser) neverStarted(ctx context.Context, name string) {
	e.remove(ctx, name, e.open(ctx, name, ""))
}

func (e *eraser) idle(ctx context.Context, name string) {
	conv := e.open(ctx, name, shapePlain)
	e.until(ctx, conv, "the answer has arrived", func(s wire.Snapshot) bool { return len(s.Messages) == 2 && idle(s) })
	e.remove(ctx, name, conv)
}

func (e *eraser) running(ctx context.Context, name string) {
	conv := e.open(ctx, name, shapeLinger+" 5")
	e.until(ctx, conv, "agents run", func(s wire.Snapshot) bool { return len(s.Agents) == 6 })
	e.remove(ctx, name, conv)
}

func (e *eraser) deep(ctx context.Context, name string) {
	conv := e.open(ctx, name, shapeDeep+" 3")
	e.until(ctx, conv, "agents run", func(s wire.Snapshot) bool { return len(s.Agents) >= 6 })
	e.remove(ctx, name, conv)
}

func (e *eraser) approval(ctx context.Context, name string) {
	conv := e.open(ctx, name, shapePlead+" 2")
	e.until(ctx, conv, "approvals wait", func(s wire.Snapshot) bool { return len(s.Approvals) >= 2*pleas })
	e.remove(ctx, name, conv)
}

func (e *eraser) question(ctx context.Context, name string) {
	conv := e.open(ctx, name, shapeInquire+" 3")
	e.until(ctx, conv, "questions wait", func(s wire.Snapshot) bool {
		return len(s.Questions) == 3 && s.Questions[2].Status == "relayed"
	})
	e.remove(ctx, name, conv)
}

// twice has several people delete the same conversation at the same time, each more than once.
func (e *eraser) twice(ctx context.Context, name string) {
	conv, began := e.open(ctx, name, shapeLinger+" 3"), time.Now()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := e.caller.persist(ctx, http.MethodDelete, "/v1/conversations/"+conv, fmt.Sprint("delete-twice-", i%4), nil, func(error) {})
			if err != nil && !isGone(err) {
				e.t.Errorf("delete once more: %v", err)
			}
		})
	}
	wg.Wait()
	e.goes(ctx, name, conv, began)
}

// archived takes a conversation off the list, where it stays readable, and deletes it then.
func (e *eraser) archived(ctx context.Context, name string) {
	conv := e.open(ctx, name, shapePlain)
	e.post(ctx, http.MethodPost, "/v1/conversations/"+conv+"/archive", "archive-"+conv, nil, nil)
	var list wire.Conversations
	if err := e.caller.read(ctx, "/v1/conversations?limit=1000", &list); err != nil {
		e.t.Error(err)
	}
	for _, c := range list.Items {
		if c.ID == conv {
			e.t.Error("what is archived is still on the list")
		}
	}
	e.until(ctx, conv, "it answers although it is archived", func(s wire.Snapshot) bool {
		return s.Conversation.Archived && len(s.Messages) == 2
	})
	e.remove(ctx, name, conv)
}

// race has people talk in a conversation while it is deleted. Each of their messages is refused or
// goes with it.
func (e *eraser) race(ctx context.Context, name string) {
	conv := e.open(ctx, name, shapePlain)
	var wg sync.WaitGroup
	over := make(chan struct{})
	for person := range 2 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				_, err := e.caller.persist(ctx, http.MethodPost, "/v1/conversations/"+conv+"/messages", fmt.Sprintf("delete-race-%d-%d", person, n),
					map[string]any{"text": fmt.Sprintf("plain r%d-%d", person, n)}, func(error) {})
				if err != nil && !isGone(err) {
					r := new(*refusal)
					if !errors.As(err, r) || (*r).Status != http.StatusConflict {
						e.t.Errorf("%s: a message is answered with %v", name, err)
					}
				}
				wait(ctx, 20*time.Millisecond)
			}
		})
	}
	wait(ctx, 300*time.Millisecond)
	e.remove(ctx, name, conv)
	wait(ctx, 300*time.Millisecond)
	close(over)
	wg.Wait()
}

// erasedBelow erases the rows of agents that run: their writes are refused, and they end.
func (e *eraser) erasedBelow(ctx context.Context, name string) {
	conv := e.open(ctx, name, shapeLinger+" 4")
	e.until(ctx, conv, "agents run", func(s wire.Snapshot) bool { return len(s.Agents) == 5 })
	began := time.Now()
	if err := e.node.Log.Erase(ctx, placeOf(conv)); err != nil {
		e.t.Error(err)
	}
	e.goes(ctx, name, conv, began)
}

// vanishing is a journal whose conversation is erased as soon as somebody has seen that it exists.
type vanishing struct{ journal.Log }

func (v vanishing) Find(ctx context.Context, ref journal.Ref, keys ...string) ([]journal.Entry, error) {
	entries, err := v.Log.Find(ctx, ref, keys...)
	if err == nil && len(keys) == 1 && keys[0] == (journal.Opened{}).Key() {
		err = v.Erase(ctx, ref)
	}
	return entries, err
}

// begunAfter begins a run whose rows are gone.
func (e *eraser) begunAfter(ctx context.Context, name string) {
	conv, began := e.open(ctx, name, ""), time.Now()
	late := *e.node.Client
	late.Log = vanishing{late.Log}
	_, err := late.Say(ctx, placeOf(conv), durable.Message{ID: "late", By: "you", Parts: []chat.Part{{Kind: chat.PartText, Text: "plain late"}}})
	if err != nil {
		e.t.Logf("%s: %v", name, err)
	}
	e.goes(ctx, name, conv, began)
}

// underKills deletes conversations while everything is killed.
func (e *eraser) underKills(ctx context.Context) {
	convs := map[string]string{}
	for i, text := range []string{"", shapePlain, shapeLinger + " 4", shapePlead + " 1", shapeInquire + " 2", shapeDeep + " 2", shapeFan + " 5", ""} {
		name := fmt.Sprint("under kills ", i)
		convs[name] = e.open(ctx, name, text)
	}
	wait(ctx, 2*time.Second)
	var wg sync.WaitGroup
	for name, conv := range convs {
		wg.Go(func() {
			began := time.Now()
			_, err := e.caller.persist(ctx, http.MethodDelete, "/v1/conversations/"+conv, "delete-"+conv, nil, func(error) {})
			if err != nil && !isGone(err) {
				e.t.Errorf("%s: %v", name, err)
			}
			e.goes(ctx, name, conv, began)
		})
	}
	for range 3 {
		for _, p := range append(append([]*process{}, e.servers...), e.workers...) {
			p.kill()
			wait(ctx, 150*time.Millisecond)
		}
		wait(ctx, time.Second)
	}
	e.engine.kill()
	e.revive(e.engine)
	wg.Wait()
}

// nothingLeft looks for traces of deleted conversations: in every table of the journal, in the
// engine, in the list and on every address.
func (e *eraser) nothingLeft(ctx context.Context) {
	names := "'" + strings.Join(e.gone, "','") + "'"
	tables := e.psql(`select table_name from information_schema.columns where column_name = 'conversation_id' and table_schema not in ('pg_catalog','information_schema')`)
	rows := 0
	for table := range strings.FieldsSeq(tables) {
		if strings.HasPrefix(table, "audit_") {
			continue // that something was done stays on the trail
		}
		if n := e.psql("select count(*) from " + table + " where conversation_id in (" + names + ")"); n != "0" {
			e.t.Errorf("table %s has %s rows of conversations that are gone", table, n)
			some, _ := strconv.Atoi(n)
			rows += some
		}
	}
	measure.Figure(e.t, "crash/delete: %d conversations deleted, %d rows of them left in %d tables", len(e.gone), rows, len(strings.Fields(tables)))
	var left []string
	for deadline := time.Now().Add(goneWithin); time.Now().Before(deadline); wait(ctx, 500*time.Millisecond) {
		left = nil
		running, err := e.node.Client.Running(ctx)
		if err != nil {
			left = append(left, err.Error())
		}
		for _, id := range running {
			for _, conv := range e.gone {
				if strings.Contains(id, conv) {
					left = append(left, id)
				}
			}
		}
		if len(left) == 0 {
			break
		}
	}
	for _, id := range left {
		e.t.Errorf("%s runs on in the engine", id)
	}
	for _, conv := range e.gone {
		for _, path := range []string{"", "/messages", "/agents", "/agents/main/messages", "/tasks", "/approvals", "/questions", "/events"} {
			if _, err := e.caller.persist(ctx, http.MethodGet, "/v1/conversations/"+conv+path, "", nil, func(error) {}); !isGone(err) {
				e.t.Errorf("%s%s is answered with %v", conv, path, err)
			}
		}
	}
}
