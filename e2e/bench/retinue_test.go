//go:build services

package bench

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// playModel serves the script in the file that the setup names as its journal.
func playModel(s Setup) (func(Order) (any, error), error) {
	text, err := os.ReadFile(s.Journal)
	if err != nil {
		return nil, err
	}
	script, err := scripted.Parse(s.Journal, text)
	if err != nil {
		return nil, err
	}
	m, err := scripted.New(script, scripted.Options{})
	if err != nil {
		return nil, err
	}
	server, err := scripted.Listen("127.0.0.1:0", m)
	if err != nil {
		return nil, err
	}
	return func(Order) (any, error) { return server.AnthropicURL(), nil }, nil
}

// subject is a node with its worker and a person.
type subject struct {
	*app.Node
	folder     string
	log        *watched
	statements func() int64
	watch      *stopwatch
	said       map[string]int
}

// playRetinue runs shapes and talks through the whole program.
func playRetinue(s Setup) (func(Order) (any, error), error) {
	ctx := context.Background()
	sub := &subject{folder: s.Folder, said: map[string]int{}}
	var err error
	if sub.watch, err = newStopwatch(s.Model); err != nil {
		return nil, err
	}
	log, err := sub.open(ctx, s.Journal)
	if err != nil {
		return nil, err
	}
	sub.log = &watched{Log: log, waits: map[string]chan journal.Row{}}
	loaded, err := settings(s, sub.watch)
	if err != nil {
		return nil, err
	}
	sub.Node, err = app.OpenNode(ctx, app.NodeOptions{
		Loaded: loaded, Log: sub.log, Engine: s.Engine, EngineTLS: app.EngineClient(s.Credentials), Logger: quiet(),
		Lookup: func(name string) (string, bool) { return map[string]string{"NATS": s.NATS, "KEY": "key"}[name], true },
		Local:  true, Workspaces: map[app.Workspace]string{app.LocalWorkspace(s.Folder): s.Folder},
	})
	if err != nil {
		return nil, err
	}
	if err := sub.Work(); err != nil {
		return nil, err
	}
	go sub.Sweep(ctx) // as a server does, for as long as the process lives
	return sub.do, nil
}

func settings(s Setup, p *stopwatch) (config.Loaded, error) {
	flags := map[string]string{
		"data_dir": filepath.Join(s.Folder, "data"), "providers.bench.kind": "anthropic", "providers.bench.base_url": s.Model,
		"providers.bench.key": "{env:KEY}", "providers.bench.requests_per_minute": "60000000",
		"providers.bench.concurrency": "4000", "worker.slots": strconv.Itoa(mostLegs), "tiers.fast": "bench/fast", "tiers.balanced": "bench/balanced",
		"tiers.strong": "bench/strong",
	}
	if s.Window > 0 {
		flags["models.bench/strong.window"] = strconv.Itoa(s.Window)
		flags["models.bench/strong.max_output"] = "1000"
		flags["providers.bench.base_url"] = p.url
	}
	if s.Family > 0 {
		flags["worker.family"] = strconv.Itoa(s.Family)
	}
	if s.NATS != "" {
		flags["live.nats_url"] = "{env:NATS}"
	}
	for _, limit := range []string{"commands", "command_rate", "tenant_command_rate", "read_rate", "tenant_read_rate", "person_streams"} {
		flags["serve.limits."+limit] = "0" // the measured load must not be refused
	}
	in := config.Inputs{DataHome: s.Folder, Environ: []string{}}
	for key, value := range flags {
		in.Flags = append(in.Flags, config.Flag{Name: "--set", Key: key, Value: value})
	}
	return config.LoadSettings(in)
}

// open opens the journal, a file or a DSN, so that its statements are counted.
func (s *subject) open(ctx context.Context, address string) (journal.Log, error) {
	if strings.HasPrefix(address, "postgres://") {
		count := &tracer{}
		s.statements = count.n.Load
		return postgres.Open(ctx, postgres.Options{DSN: address, Role: postgres.Role, Tracer: count})
	}
	count := &journaltest.Counter{}
	s.statements = count.N.Load
	sql.Register("counted", count)
	return sqlite.Open(ctx, sqlite.Options{Path: address, Driver: "counted"})
}

func (s *subject) do(o Order) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch o.Do {
	case "run":
		before := s.statements()
		err := each(o.Shape.Talks, func(i int) error {
			name := fmt.Sprintf("%s-%d", o.Name, i)
			finished := s.log.wait(journal.TaskEnded{}.Kind(), place(name))
			if err := s.turn(ctx, name, "m1", o.Shape.request()); err != nil {
				return err
			}
			if n := len(finished); n != o.Shape.Agents {
				return fmt.Errorf("%d sub-agents ran, not %d", n, o.Shape.Agents)
			}
			return nil
		})
		return s.statements() - before, err
	case "talk":
		return s.talk(ctx, o.Name, o.Turns)
	case "spawn":
		return s.spawn(ctx, o.Name, o.Turns, o.Shape)
	case "cancel":
		return s.cancel(ctx, o.Name)
	case "wait":
		return nil, s.wait(ctx, o.Name, o.Shape)
	case "stop":
		return s.stop(ctx, o.Name, o.Shape.Agents)
	}
	return nil, fmt.Errorf("nobody knows how to %q", o.Do)
}

func place(conversation string) journal.Ref {
	return journal.Ref{Tenant: app.LocalTenant, Conversation: conversation}
}

// turn says something to an orchestrator and waits for the end of its turn.
func (s *subject) turn(ctx context.Context, name, id, words string) error {
	at := place(name)
	end := s.log.wait(journal.TurnEnded{}.Kind(), at)
	if id == "m1" {
		if err := s.Open(ctx, at, api.NewConversation{By: "bench", Workspace: s.folder}); err != nil {
			return err
		}
	}
	_, err := s.Client.Say(ctx, at, durable.Message{
		ID: id, By: "bench", Parts: []chat.Part{{Kind: chat.PartText, Text: words}},
	})
	if err != nil {
		return err
	}
	select {
	case row := <-end:
		if ended, _ := row.(journal.TurnEnded); ended.Status != chat.StatusCompleted {
			return fmt.Errorf("turn %s of %s ended as %s: %s %s", id, name, ended.Status, ended.ErrorKind, ended.Reason)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the turn of %s did not end: %w", name, ctx.Err())
	}
}

// Chunk is what some turns of a talk took, in milliseconds each.
type Chunk struct {
	Turns, Sent, First []float64
}

// talk makes the next turns of a talk.
func (s *subject) talk(ctx context.Context, name string, turns int) (Chunk, error) {
	var c Chunk
	for range turns {
		s.said[name]++
		n := s.said[name]
		heard, err := s.watch.listen(ctx, s.Bus, place(name))
		if err != nil {
			return c, err
		}
		began := time.Now()
		if err := s.turn(ctx, name, "m"+strconv.Itoa(n), plainTurn+" with number "+strconv.Itoa(n)); err != nil {
			return c, err
		}
		c.Turns = append(c.Turns, ms(time.Since(began)))
		sent, first := heard(began)
		c.Sent, c.First = append(c.Sent, sent), append(c.First, first)
	}
	return c, nil
}

// spawn makes turns in each of which the orchestrator has one sub-agent. It returns how long each
// took, in milliseconds, from the end of the reply that asks for the sub-agent to the sub-agent's
// first request.
func (s *subject) spawn(ctx context.Context, name string, turns int, one Shape) ([]float64, error) {
	var out []float64
	for n := range turns {
		asked := s.watch.requests()
		if err := s.turn(ctx, name, "m"+strconv.Itoa(n+1), one.request()); err != nil {
			return nil, err
		}
		idle := asked()
		if len(idle) != one.modelCalls() {
			return nil, fmt.Errorf("turn %d made %d requests, not %d", n+1, len(idle), one.modelCalls())
		}
		out = append(out, idle[1])
	}
	return out, nil
}

// Stop is how long a cancel took to be accepted and to be done, in milliseconds.
type Stop struct {
	Accepted, Closed float64
}

// mostLegs is how many legs a worker runs at the same time, enough for all that is measured.
const mostLegs = 2000

// cancel stops a tree of agents that are all at work.
func (s *subject) cancel(ctx context.Context, name string) (Stop, error) {
	if err := s.wait(ctx, name, Shape{Talks: 1, Agents: slowAgents}); err != nil {
		return Stop{}, err
	}
	return s.stop(ctx, name+"-0", slowAgents)
}

// wait has sub-agents wait for their models, in so many conversations.
func (s *subject) wait(ctx context.Context, name string, shape Shape) error {
	return each(shape.Talks, func(i int) error {
		at := place(fmt.Sprintf("%s-%d", name, i))
		if err := s.Open(ctx, at, api.NewConversation{By: "bench", Workspace: s.folder}); err != nil {
			return err
		}
		asked := s.log.wait(journal.ModelCalled{}.Kind(), at)
		_, err := s.Client.Say(ctx, at, durable.Message{
			ID: "m1", By: "bench", Parts: []chat.Part{{Kind: chat.PartText, Text: slowTree(shape.Agents)}},
		})
		if err != nil {
			return err
		}
		return receive(ctx, asked, shape.Agents+1)
	})
}

// stop cancels a conversation whose agents are all at work.
func (s *subject) stop(ctx context.Context, name string, agents int) (Stop, error) {
	at := place(name)
	end, finished := s.log.wait(journal.TurnEnded{}.Kind(), at), s.log.wait(journal.TaskEnded{}.Kind(), at)
	began := time.Now()
	if err := s.Client.Cancel(ctx, at, "stop", "bench", ""); err != nil {
		return Stop{}, err
	}
	out := Stop{Accepted: ms(time.Since(began))}
	if err := receive(ctx, finished, agents); err != nil {
		return out, err
	}
	err := receive(ctx, end, 1)
	out.Closed = ms(time.Since(began))
	return out, err
}

func receive(ctx context.Context, from <-chan journal.Row, n int) error {
	for i := range n {
		select {
		case <-from:
		case <-ctx.Done():
			return fmt.Errorf("row %d of %d did not come: %w", i+1, n, ctx.Err())
		}
	}
	return nil
}

// watched is a journal that tells of rows when they are durable.
type watched struct {
	journal.Log
	mu    sync.Mutex
	waits map[string]chan journal.Row
}

func (w *watched) wait(kind journal.Kind, at journal.Ref) <-chan journal.Row {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan journal.Row, 4096)
	w.waits[string(kind)+" "+at.Conversation] = c
	return c
}

// Append implements journal.Log.
func (w *watched) Append(
	ctx context.Context, at journal.Ref, now time.Time, rows ...journal.Row,
) ([]journal.Written, error) {
	written, err := w.Log.Append(ctx, at, now, rows...)
	if err != nil {
		return written, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, row := range rows {
		if c := w.waits[string(row.Kind())+" "+at.Conversation]; c != nil && !written[i].Existed {
			c <- row
		}
	}
	return written, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}
