//go:build services

package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	costTasks = flag.Int("cost", 0, "how many random tasks with a cap are given to agents")
	costSeed  = flag.Uint64("cost-seed", 1, "where they are drawn from")
)

// costLanes is how many pairs of providers there are, each with prices, limits and troubles of its
// own.
const costLanes = 16

// costTask is a random task.
type costTask struct {
	lane, turns int
	role        string
	limit       int64
	// ended is how its turns ended.
	ended []string
}

// TestCost gives agents random tasks with a cap: with small and large sets of tools, files that no
// tokenizer has words for, pictures, sub-agents that get a part of the cap, providers that fail
// after they have billed, and fallbacks that cost more. No task is billed more than its cap.
//
// Covers: P10.
func TestCost(t *testing.T) {
	if *costTasks == 0 {
		t.Skip("make cost runs this")
	}
	chance := rand.New(rand.NewPCG(*costSeed, 1))
	b := newBiller(*costSeed)
	provider := httptest.NewServer(b)
	t.Cleanup(provider.Close)
	h := newHosted(t, thriftyModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann := h.settle(t, "ann")
	lanes := costSettings(t, h, b, provider.URL, chance)
	h.start(t, "worker: ready", "worker", "--workspace", ann.tenant+"/shop="+filepath.Join(h.dir, "shop"))
	at := h.serve(t)

	tasks := make([]costTask, *costTasks)
	for i := range tasks {
		c := &tasks[i]
		c.lane, c.turns, c.role = chance.IntN(costLanes), 1+chance.IntN(2), []string{"narrow", "wide", "lead"}[chance.IntN(3)]
		m := lanes[c.lane]
		scale := chance.Float64()*2 - 1 // most caps are worth a few calls, some many
		if chance.IntN(4) == 0 {
			scale = chance.Float64() * 3.5
		}
		c.limit = max(1, int64(float64(40_000*m.input+2_000*m.output)/1e6*math.Exp(scale)))
	}
	next := make(chan int)
	var all sync.WaitGroup
	for range 24 {
		all.Go(func() {
			for i := range next {
				h.spend(t, at, ann, i, &tasks[i])
			}
		})
	}
	for i := range tasks {
		next <- i
	}
	close(next)
	all.Wait()
	checkBills(t, b, tasks)
}

// costSettings writes the settings, roles and files of the tasks, and returns the dearest prices of
// each lane.
func costSettings(t *testing.T, h *hosted, b *biller, url string, chance *rand.Rand) (dearest []billedModel) {
	t.Helper()
	var providers, models, fallbacks []string
	for i := range costLanes {
		a, o := fmt.Sprintf("a%d", i), fmt.Sprintf("o%d", i)
		providers = append(providers,
			fmt.Sprintf("  %s: {kind: anthropic, base_url: %q, key: '{env:MODEL_KEY}'}", a, url+"/"+a),
			fmt.Sprintf("  %s: {kind: openai, base_url: %q, key: '{env:MODEL_KEY}'}", o, url+"/"+o))
		chain := []string{a + "/claude-first", o + "/second", a + "/claude-third"}
		if i%2 == 1 {
			chain = []string{o + "/first", a + "/claude-second", o + "/third"}
		}
		chain = chain[:1+chance.IntN(3)]
		price, top := 1+chance.Int64N(4), billedModel{}
		output, greedy, trouble := 60+chance.IntN(1500), chance.IntN(2) == 0, chance.IntN(50)
		for _, name := range chain {
			m := billedModel{
				input: price * 1e6, output: price * 5e6, read: price * 1e5, write: price * 1.25e6,
				bytes: 1 + chance.IntN(3), trouble: trouble, greedy: greedy,
			}
			if greedy {
				m.bytes = 1
			}
			trouble = chance.IntN(10) // of fallbacks
			if strings.HasPrefix(name, "o") {
				m.silent, m.write = 10, m.input
			}
			b.models[name], top = m, m
			models = append(models, fmt.Sprintf("  %s: {max_output: %d, window: %d, input_usd: %d, output_usd: %d, cache_read_usd: %.2f, cache_write_usd: %.2f}",
				name, output, 60_000+chance.IntN(200_000), m.input/1e6, m.output/1e6, float64(m.read)/1e6, float64(m.write)/1e6))
			price *= 1 + chance.Int64N(4) // a fallback costs up to four times as much
		}
		if len(chain) > 1 {
			fallbacks = append(fallbacks, fmt.Sprintf("  %s: [%s]", chain[0], strings.Join(chain[1:], ", ")))
		}
		dearest = append(dearest, top)
	}
	settings := h.read(t, "config/retinue/retinue.yaml")
	before, _, found := strings.Cut(settings, "providers: {demo")
	if !found {
		t.Fatal("the settings have no provider to replace")
	}
	h.write(t, "config/retinue/retinue.yaml", before+"providers:\n"+strings.Join(providers, "\n")+"\nmodels:\n"+strings.Join(models, "\n")+
		"\nfallbacks:\n"+strings.Join(fallbacks, "\n")+"\ntiers: {fast: a0/claude-first, balanced: a0/claude-first, strong: a0/claude-first}\n")
	costFiles(t, h, chance)
	return dearest
}

// costFiles writes roles with few and with many tools, among them one whose schema is as large as
// those of some MCP servers, and the files that the agents read.
func costFiles(t *testing.T, h *hosted, chance *rand.Rand) {
	t.Helper()
	role := func(name, front, text string) {
		h.write(t, "config/retinue/agents/"+name+".md", "---\nname: "+name+"\ndescription: plays "+name+"\n"+front+"---\n"+text+"\n")
	}
	properties := map[string]any{}
	for i := range 120 {
		properties[fmt.Sprintf("field_%d", i)] = map[string]any{"type": "string", "description": dense(chance, 40+chance.IntN(200))}
	}
	schema := jsonOf(map[string]any{"type": "object", "properties": properties})
	role("service", "tools: [list_dir]\nexpose_as_tool: true\ninput_schema: "+schema+"\n", "Serve.")
	role("helper", "tools: [read_file, list_dir, read_image]\nmax_iterations: 6\n", "Help. "+dense(chance, 300))
	role("narrow", "tools: [read_file]\nmode: all\n", "Work alone.")
	role("wide", "tools: [read_file, list_dir, read_image, glob, grep]\nmode: all\ncan_delegate_to: [helper]\nmax_iterations: 8\n", "Work. "+dense(chance, 3000))
	role("lead", "tools: [read_file, list_dir, read_image, glob, grep]\nmode: all\ncan_delegate_to: [helper, wide, service]\n", "Lead. "+dense(chance, 9000))
	for i := range 8 {
		h.write(t, fmt.Sprintf("shop/f%d.txt", i), dense(chance, 50<<i)+"\n")
	}
	for i := range 4 {
		var file bytes.Buffer
		if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 100<<i, 60<<i))); err != nil {
			t.Fatal(err)
		}
		h.write(t, fmt.Sprintf("shop/p%d.png", i), file.String())
	}
}

// spend gives agents a task, and waits for the end of its turns.
func (h *hosted) spend(t *testing.T, at string, who resident, number int, c *costTask) {
	model := fmt.Sprintf("%s%d/%s", []string{"a", "o"}[c.lane%2], c.lane, []string{"claude-first", "first"}[c.lane%2])
	id := ""
	for turn := range c.turns {
		text := fmt.Sprintf("[[task %d]] Do what there is to do, part %d.", number, turn+1)
		path, body := "/v1/conversations", map[string]any{
			"workspace": "shop", "role": c.role, "model": model, "headless": true, "max_cost_micro_usd": c.limit, "message": text,
		}
		if turn > 0 {
			path, body = "/v1/conversations/"+id+"/messages", map[string]any{"text": text}
		}
		status, said := h.call(t, at, who, http.MethodPost, path, body)
		for ; status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests; time.Sleep(glance) {
			status, said = h.call(t, at, who, http.MethodPost, path, body) // it has enough to do
		}
		if status >= http.StatusMultipleChoices {
			t.Errorf("task %d: %d %s", number, status, said)
			return
		}
		if turn == 0 {
			var begun struct{ ID string }
			if err := json.Unmarshal([]byte(said), &begun); err != nil {
				t.Error(err)
				return
			}
			id = begun.ID
		}
		if c.ended = h.turnsOf(t, at, who, id, turn+1); len(c.ended) <= turn {
			t.Errorf("task %d: turn %d of %s did not end", number, turn+1, id)
			return
		}
	}
}

// turnsOf waits until a conversation has so many turns behind it, and says how they ended.
func (h *hosted) turnsOf(t *testing.T, at string, who resident, id string, turns int) (ended []string) {
	for deadline := time.Now().Add(20 * patience); time.Now().Before(deadline); time.Sleep(10 * glance) {
		_, said := h.call(t, at, who, http.MethodGet, "/v1/conversations/"+id, nil)
		var state struct {
			Turns []struct {
				Status string
				Kind   string `json:"error_kind"`
			}
		}
		if err := json.Unmarshal([]byte(said), &state); err != nil {
			t.Errorf("%v: %.300s", err, said)
			return nil
		}
		if len(state.Turns) < turns {
			continue
		}
		for _, turn := range state.Turns {
			ended = append(ended, strings.TrimSuffix(turn.Status+" "+turn.Kind, " "))
		}
		return ended
	}
	return nil
}

// checkBills compares each bill with its cap.
func checkBills(t *testing.T, b *biller, tasks []costTask) {
	t.Helper()
	var requests, billed, failed, over int
	var parts []float64
	ends, wall := map[string]int{}, measure.NewWall(t, "1.10")
	for i, c := range tasks {
		account, bill := b.bill(t, i)
		requests, billed, failed = requests+account.requests, billed+account.billed, failed+account.failed
		parts = append(parts, float64(bill)/float64(c.limit))
		for _, end := range c.ended {
			ends[end]++
		}
		if bill > c.limit {
			over++
		}
		wall.Try(bill > c.limit, "task %d, %s in lane %d: billed %d of %d millionths of a dollar for %d requests; it ended %v",
			i, c.role, c.lane, bill, c.limit, account.requests, c.ended)
	}
	slices.Sort(parts)
	if b.strange > 0 {
		t.Errorf("%d requests belong to no task", b.strange)
	}
	if ends["completed"] == 0 || ends["failed budget_exceeded"] == 0 {
		t.Errorf("the tasks ended %v: some should be completed, and some should have used their caps up", ends)
	}
	measure.Figure(t, "%d tasks, %d requests, %d of them failed, %d billed; of the cap the median was billed %.2f, the worst %.2f; %d over the cap (seed %d)",
		len(tasks), requests, failed, billed, parts[len(parts)/2], parts[len(parts)-1], over, *costSeed)
	t.Logf("turns ended: %v", ends)
}

// read is what a file says.
func (h *hosted) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
