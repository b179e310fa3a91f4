//go:build services

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/live/nats"
	"github.com/retinue-dev/retinue/internal/measure"
)

var measureAPI = flag.Bool("api", false, "measure the API")

// apiSize is how much is measured.
type apiSize struct {
	// posts are made one after another, and then by posters at the same time.
	posts, posters int
	// events are written while watchers watch.
	events, watchers int
	// rounds of so long have snapshots made by readers at the same time.
	rounds  int
	each    time.Duration
	readers int
	// ratio is the most that a bare handler may be faster.
	ratio float64
}

var (
	fullAPI  = apiSize{posts: 400, posters: 16, events: 2000, watchers: 50, rounds: 11, each: 2 * time.Second, readers: 8, ratio: 1.5}
	smallAPI = apiSize{posts: 60, posters: 8, events: 200, watchers: 20, rounds: 5, each: 500 * time.Millisecond, readers: 4, ratio: 2}
)

// apiClient is a client of the measured server.
type apiClient struct {
	t *testing.T
	Front
	folder string
	client *http.Client
}

// TestAPI prints the figures of make bench/api.
func TestAPI(t *testing.T) {
	if !*measureAPI {
		t.Skip("run make bench/api")
	}
	size := smallAPI
	if *full {
		size = fullAPI
	}
	s := openPostgres(t)
	_, address := model(t, nil)
	setup := s.setup(t, "front", address)
	d := &apiClient{t: t, folder: setup.Folder, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	front := start(t, setup)
	front.do(Order{}, &d.Front)
	setup.Part = "retinue"
	start(t, setup)
	log, err := postgres.Open(t.Context(), postgres.Options{DSN: s.journal, Role: postgres.Role, Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	bus, err := nats.Open(nats.Options{URL: s.nats})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	d.posts(size)
	d.events(size, log, bus)
	d.snapshots(size, log)
}

// send sends a request and returns the body of a success.
func (d *apiClient) send(ctx context.Context, method, path, key string, body any) ([]byte, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(text)
	}
	url := path
	if strings.HasPrefix(path, "/") {
		url = d.URL + path
	}
	r, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+d.Token)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := d.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d: %s", method, path, answer.StatusCode, text)
	}
	return text, err
}

// begin opens a conversation.
func (d *apiClient) begin(name string) string {
	d.t.Helper()
	text, err := d.send(d.t.Context(), http.MethodPost, "/v1/conversations", "bench-"+name, map[string]any{"workspace": d.folder})
	var c struct{ ID string }
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return c.ID
}

// posts measures how long a message takes to be acknowledged: it is durable then, and the
// orchestrator has been told.
func (d *apiClient) posts(size apiSize) {
	d.t.Helper()
	post := func(conv, key string) (time.Duration, error) {
		began := time.Now()
		_, err := d.send(d.t.Context(), http.MethodPost, "/v1/conversations/"+conv+"/messages", key,
			map[string]any{"text": "How does it stand, asked under " + key + "?"})
		return time.Since(began), err
	}
	for _, posters := range []int{1, size.posters} {
		var mu sync.Mutex
		var all []time.Duration
		convs := make([]string, posters)
		for i := range convs {
			convs[i] = d.begin(fmt.Sprintf("posts-%d-%d", posters, i))
			if _, err := post(convs[i], "bench-warm-up"); err != nil {
				d.t.Fatal(err)
			}
		}
		began := time.Now()
		err := each(posters, func(i int) error {
			for n := range size.posts / posters {
				took, err := post(convs[i], fmt.Sprint("bench-post-", n))
				if err != nil {
					return err
				}
				mu.Lock()
				all = append(all, took)
				mu.Unlock()
			}
			return nil
		})
		if err != nil {
			d.t.Fatal(err)
		}
		measure.Figure(d.t, "bench/api: a message acknowledged, %d at a time: p50 %.1f ms, p99 %.1f ms, %.0f a second (%d)", posters,
			ms(quantileOf(all, 0.5)), ms(quantileOf(all, 0.99)), float64(len(all))/time.Since(began).Seconds(), len(all))
	}
}

// quantileOf sorts times and picks one.
func quantileOf(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[min(int(float64(len(all))*q), len(all)-1)]
}

// events measures the time from a durable event to its watchers. Another process than the server
// writes it.
func (d *apiClient) events(size apiSize, log journal.Log, bus live.Bus) {
	d.t.Helper()
	for _, watchers := range []int{1, size.watchers} {
		at := place(d.begin(fmt.Sprint("events-", watchers)))
		ctx, stop := context.WithCancel(d.t.Context())
		committed := make([]atomic.Int64, size.events+100) // by seq, in nanoseconds
		seen := make(chan []time.Duration, watchers)
		var ready sync.WaitGroup
		ready.Add(watchers)
		for range watchers {
			go func() { seen <- d.watch(ctx, at.Conversation, committed, size.events, ready.Done) }()
		}
		ready.Wait()
		for n := range size.events {
			row := journal.NoteAdded{In: journal.In{Agent: "main", Task: "main"}, Serial: n, Note: "bench", Text: "Something happened."}
			written, err := log.Append(ctx, at, time.Now(), row)
			if err != nil {
				d.t.Fatal(err)
			}
			committed[written[0].Seq].Store(time.Now().UnixNano())
			bus.Announce(live.Appended{Topic: live.Topic(at), Seq: written[0].Seq})
			time.Sleep(2 * time.Millisecond)
		}
		var all []time.Duration
		for range watchers {
			select {
			case some := <-seen:
				all = append(all, some...)
			case <-time.After(30 * time.Second):
				d.t.Fatal("not all events came")
			}
		}
		stop()
		measure.Figure(d.t, "bench/api: an event from commit to reader, %d watch: p50 %.1f ms, p99 %.1f ms (%d)", watchers,
			ms(quantileOf(all, 0.5)), ms(quantileOf(all, 0.99)), len(all))
	}
}

// watch reads a stream until so many events have come, and says how long each took.
func (d *apiClient) watch(ctx context.Context, conv string, committed []atomic.Int64, events int, ready func()) (out []time.Duration) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL+"/v1/conversations/"+conv+"/events?after=2", nil)
	if err != nil {
		d.t.Error(err)
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+d.Token)
	answer, err := d.client.Do(r)
	if err != nil {
		d.t.Error(err)
		ready()
		return nil
	}
	defer answer.Body.Close() //nolint:errcheck // a stream
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	if lines.Scan() {
		ready()
	}
	for len(out) < events && lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "id: ")
		if !ok {
			continue
		}
		now := time.Now().UnixNano()
		seq, err := strconv.Atoi(text)
		if err != nil {
			d.t.Error(err)
			return out
		}
		at := committed[seq].Load()
		for at == 0 { // its writer has not noted it yet
			time.Sleep(10 * time.Microsecond)
			at = committed[seq].Load()
		}
		out = append(out, max(0, time.Duration(now-at)))
	}
	return out
}

// snapshots measures how many snapshots a second the API gives, next to the bare handler, in turn.
func (d *apiClient) snapshots(size apiSize, log journal.Log) {
	d.t.Helper()
	conv := d.begin("snapshots")
	furnished(d.t, log, place(conv))
	d.transcript(size, conv)
	paths := map[string]string{"API": "/v1/conversations/" + conv, "bare": d.Bare + "/" + conv}
	rates, sizes := map[string][]float64{}, map[string]*atomic.Int64{"API": {}, "bare": {}}
	var ratios []float64
	for round := range size.rounds + 1 {
		for _, name := range []string{"bare", "API"} {
			var n atomic.Int64
			began := time.Now()
			err := each(size.readers, func(int) error {
				for time.Since(began) < size.each {
					text, err := d.send(d.t.Context(), http.MethodGet, paths[name], "", nil)
					if err != nil {
						return err
					}
					sizes[name].Store(int64(len(text)))
					n.Add(1)
				}
				return nil
			})
			if err != nil {
				d.t.Fatal(err)
			}
			if round > 0 { // the first one warms up
				rates[name] = append(rates[name], float64(n.Load())/time.Since(began).Seconds())
			}
		}
		if round > 0 {
			ratios = append(ratios, rates["bare"][round-1]/rates["API"][round-1])
		}
	}
	slices.Sort(ratios)
	for _, name := range []string{"bare", "API"} {
		slices.Sort(rates[name])
		d.t.Logf("snapshots a second, %-4s         %3d at a time: %6.0f, %d bytes each", name, size.readers, rates[name][size.rounds/2], sizes[name].Load())
	}
	middle := ratios[size.rounds/2]
	d.t.Logf("bare next to API                %.2f in the middle of %d rounds, %.2f to %.2f", middle, size.rounds, ratios[0], ratios[len(ratios)-1])
	measure.Most(d.t, "bench/api: snapshots of a bare handler next to the API's", middle, size.ratio)
}

// transcript measures how many pages of an agent's transcript a second one reader gets.
func (d *apiClient) transcript(size apiSize, conv string) {
	d.t.Helper()
	n, began := 0, time.Now()
	for ; time.Since(began) < 2*size.each; n++ {
		if _, err := d.send(d.t.Context(), http.MethodGet, "/v1/conversations/"+conv+"/agents/main/messages?limit=20", "", nil); err != nil {
			d.t.Fatal(err)
		}
	}
	d.t.Logf("pages of a transcript a second   1 at a time: %6.0f", float64(n)/time.Since(began).Seconds())
}

// furnished fills a conversation as a busy one is: sub-agents, messages, and people who are waited
// for.
func furnished(t *testing.T, log journal.Log, at journal.Ref) {
	t.Helper()
	rows := []journal.Row{}
	for i := range 40 {
		in := journal.In{Agent: fmt.Sprintf("main/1.0.%d", i)}
		in.Task = in.Agent
		rows = append(rows,
			journal.TaskAssigned{In: in, Parent: "main", Call: "1.0", Item: i, Depth: 1, Role: "coder", Instruction: strings.Repeat("Do this. ", 20)},
			journal.StatusChanged{In: in, Serial: 1, Status: chat.StatusRunning},
			journal.MessageReceived{ID: fmt.Sprint("said", i), By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: strings.Repeat("A question. ", 20)}}},
			journal.MessageAdded{In: journal.In{Agent: "main", Task: "main"}, Turn: i + 1, Message: chat.Message{
				ID: fmt.Sprint("spoke", i), Speaker: chat.Assistant, Parts: []chat.Part{{Kind: chat.PartText, Text: strings.Repeat("An answer. ", 40)}},
			}})
		if i < 4 {
			rows = append(rows, journal.ApprovalRequested{
				In: in, Call: "1.0", Tool: "shell", Hash: "h", Show: json.RawMessage(`{"command":"make test"}`),
			}, journal.QuestionAsked{In: in, Question: in.Agent + "#2.0", Text: "Which?"}, journal.QuestionRelayed{In: journal.In{Agent: "main", Task: "main"}, Question: in.Agent + "#2.0"})
		}
	}
	if _, err := log.Append(t.Context(), at, time.Now(), rows...); err != nil {
		t.Fatal(err)
	}
}
