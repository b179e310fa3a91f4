//go:build services

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

// thriftyModel answers at once. Its meter shows its bill.
const thriftyModel = `
name: thrifty
rules:
  - {name: answer, reply: {text: 'got: it'}}
`

// TestACapCountsTools gives conversations a cap below the cost of the first call, most of which are
// the descriptions of tools: the call is not made.
//
// Covers: P10.
func TestACapCountsTools(t *testing.T) {
	t.Parallel()
	h := newHosted(t, thriftyModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann := h.settle(t, "ann")
	const dearest = 10 // micro-dollars for a token
	h.extend(t, "config/retinue/retinue.yaml", fmt.Sprintf("models: {demo/strong: {max_output: 50, input_usd: %d, output_usd: %d}}\n", dearest, dearest))
	h.start(t, "worker: ready", "worker", "--workspace", ann.tenant+"/shop="+filepath.Join(h.dir, "shop"))
	at := h.serve(t)
	if said := h.talk(t, at, ann, "shop", "hello"); !strings.Contains(said, "got: it") {
		t.Fatal(said)
	}
	first := h.meter(t).Billed
	cost, wall := (first.Input+first.Output)*dearest, measure.NewWall(t, "1.10")
	for _, part := range []int64{1, 10, 25, 50, 75, 90, 99} {
		before := h.meter(t).Billed
		status, said := h.call(t, at, ann, http.MethodPost, "/v1/conversations",
			map[string]any{"workspace": "shop", "message": "hello", "max_cost_micro_usd": cost * part / 100})
		var c struct{ ID string }
		if err := json.Unmarshal([]byte(said), &c); err != nil || status != http.StatusCreated {
			t.Fatalf("%d %s", status, said)
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(glance) {
			_, state := h.call(t, at, ann, http.MethodGet, "/v1/conversations/"+c.ID, nil)
			refused := strings.Contains(state, `"error_kind":"budget_exceeded"`)
			if refused || strings.Contains(state, "got: it") || time.Now().After(deadline) {
				wall.Try(!refused || h.meter(t).Billed != before, "with a cap of %d%% of $%.4f, %d requests were billed", part, float64(cost)/1e6, h.meter(t).Requests)
				break
			}
		}
	}
}

// busy reports whether a server has enough to do, or was asked too often meanwhile.
func busy(status int) bool {
	return status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
}

// TestATenantsBudget gives one tenant a small budget for the month and has it begin many turns at
// the same time. The model is asked only as often as the budget allows, the refused turns say why,
// and another tenant keeps working.
//
// Covers: P10.
func TestATenantsBudget(t *testing.T) {
	t.Parallel()
	h := newHosted(t, thriftyModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann, mallory := h.settle(t, "ann"), h.settle(t, "mallory")
	const budget, dearest = 500_000, 10 // micro-dollars in the month, and for a token
	h.extend(t, "config/retinue/retinue.yaml", fmt.Sprintf(
		"models: {demo/strong: {max_output: 2000, input_usd: %d, output_usd: %d}}\nquotas: {tenants: {%s: {month_usd: 0.5}}}\n", dearest, dearest, mallory.tenant))
	h.start(t, "worker: ready", "worker")
	at := h.serve(t)
	const turns = 60
	begun := make(chan string, turns)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range turns / 10 {
				spend := map[string]any{"message": "spend"}
				status, said := h.call(t, at, mallory, http.MethodPost, "/v1/conversations", spend)
				for deadline := time.Now().Add(patience); busy(status) && time.Now().Before(deadline); time.Sleep(glance) {
					status, said = h.call(t, at, mallory, http.MethodPost, "/v1/conversations", spend)
				}
				var c struct{ ID string }
				if err := json.Unmarshal([]byte(said), &c); err != nil || status != http.StatusCreated {
					t.Errorf("%d %s", status, said)
				}
				begun <- c.ID
			}
		})
	}
	all.Wait()
	close(begun)
	answered, refused := 0, 0
	for id := range begun {
		for deadline := time.Now().Add(patience); ; time.Sleep(glance) {
			_, state := h.call(t, at, mallory, http.MethodGet, "/v1/conversations/"+id, nil)
			if strings.Contains(state, "got: it") {
				answered++
				break
			}
			if strings.Contains(state, `"status":"failed","error_kind":"budget_exceeded"`) {
				refused++
				why := "/v1/conversations/" + id + "/agents/main/model-calls/1.1?task=main"
				if status, said := h.call(t, at, mallory, http.MethodGet, why, nil); status != http.StatusOK || !strings.Contains(said, "quotas.month_usd") {
					t.Errorf("the call that was refused does not say why: %d %s", status, said)
				}
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("a turn came to nothing: %s", state)
			}
		}
	}
	quotas := func(who resident) (q struct {
		Month struct {
			Name   string
			Budget int64 `json:"budget_micro_usd"`
			Spent  int64 `json:"spent_micro_usd"`
		}
	},
	) {
		t.Helper()
		status, said := h.call(t, at, who, http.MethodGet, "/v1/quotas", nil)
		if err := json.Unmarshal([]byte(said), &q); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, said)
		}
		return q
	}
	q := quotas(mallory)
	used := h.meter(t).Billed
	billed := (used.Input + used.Output) * dearest
	t.Logf("%d turns were answered, %d refused; $%.4f was billed of $0.5", answered, refused, float64(billed)/1e6)
	measure.NewWall(t, "1.7").Try(billed > budget, "%d turns at once were billed %d of %d", turns, billed, budget)
	if q.Month.Budget != budget || q.Month.Name != journal.MonthOf(time.Now()) || q.Month.Spent != billed || billed > budget || answered == 0 || refused == 0 {
		t.Errorf("the quotas are %+v, and %d was billed of %d", q, billed, budget)
	}
	if said := h.talk(t, at, ann, "", "hello"); !strings.Contains(said, "got: it") || quotas(ann).Month.Budget != 0 {
		t.Errorf("ann, who has no budget, is told %q", said)
	}
}

// TestATenantsStorage gives one tenant little storage and has it say long things until it is
// refused. It can still answer and delete, which frees storage, and another tenant keeps working.
//
// Covers: P18.
func TestATenantsStorage(t *testing.T) {
	t.Parallel()
	h := newHosted(t, thriftyModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann, mallory := h.settle(t, "ann"), h.settle(t, "mallory")
	h.extend(t, "config/retinue/retinue.yaml", fmt.Sprintf("quotas: {tenants: {%s: {storage_mb: 1}}}\n", mallory.tenant))
	h.start(t, "worker: ready", "worker")
	// A message takes its size twice: as a row, and in what the model was sent, which the server learns
	// of when it measures again. Seven of these are accepted before that.
	at, long := h.serve(t), strings.Repeat("plums ", 21_000)
	begin := func(who resident, text string) (int, string) {
		t.Helper()
		return h.call(t, at, who, http.MethodPost, "/v1/conversations", map[string]any{"message": text})
	}
	until := func(want int) (said string) {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(glance) {
			var status int
			if status, said = begin(mallory, long); status == want {
				return said
			}
		}
		t.Fatalf("no answer of status %d, but %s", want, said)
		return ""
	}
	if said := until(http.StatusForbidden); !strings.Contains(said, "quotas.storage_mb") || !strings.Contains(said, "of 1 MB") {
		t.Errorf("the refusal says %s", said)
	}
	_, said := h.call(t, at, mallory, http.MethodGet, "/v1/quotas", nil)
	var q struct {
		Storage struct {
			Most int64 `json:"most_bytes"`
			Used int64 `json:"used_bytes"`
		}
		AtOnce map[string]int `json:"at_once"`
	}
	if err := json.Unmarshal([]byte(said), &q); err != nil || q.Storage.Most != 1_000_000 || q.Storage.Used < q.Storage.Most/2 || q.Storage.Used > 2*q.Storage.Most {
		t.Errorf("the quotas are %s", said)
	}
	if want := (map[string]int{"agents": 50, "searches": 4, "imports": 2, "streams": 200}); !maps.Equal(q.AtOnce, want) {
		t.Errorf("at once are %v, want %v", q.AtOnce, want)
	}
	if status, said := begin(ann, long); status != http.StatusCreated {
		t.Errorf("another tenant is told %d %s", status, said)
	}
	_, said = h.call(t, at, mallory, http.MethodGet, "/v1/conversations?limit=100", nil)
	var list struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(said), &list); err != nil || len(list.Items) == 0 {
		t.Fatalf("%v: %s", err, said)
	}
	for _, c := range list.Items {
		if status, said := h.call(t, at, mallory, http.MethodDelete, "/v1/conversations/"+c.ID, nil); status != http.StatusAccepted {
			t.Errorf("delete: %d %s", status, said)
		}
	}
	until(http.StatusCreated)
}
