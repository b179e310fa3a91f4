//go:build services

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/wire"
)

// crowd is people at work: each opens conversations, one after another, says a few things in each,
// decides and answers what is asked, and watches. All of it goes over HTTP.
type crowd struct {
	*load
	seed   uint64
	caller *caller
	// shapes are what people ask for.
	shapes []string
	// workspace is where they talk; empty means nowhere.
	workspace string
	// over means that nobody begins anything new.
	over atomic.Bool

	mu      sync.Mutex
	watched map[string]*watch
}

// newCrowd is a crowd that has not begun. Each answer to them is checked against the document.
func newCrowd(w *world) *crowd {
	w.t.Helper()
	c, err := w.part.newCaller(apitest.Fail(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	return &crowd{load: &load{world: w, ledger: newLedger()}, caller: c, shapes: everyShape, watched: map[string]*watch{}}
}

// reportAnswers says how much was checked against the document that the servers serve.
func (c *crowd) reportAnswers(t *testing.T) {
	t.Helper()
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	counts := c.caller.contract.Counts()
	counts.Answers += c.ledger.checked
	t.Logf("document           %v", counts)
	if counts.Answers == 0 {
		t.Error("nothing was compared with the document")
	}
}

// everyShape is drawn from; those that bring many sub-agents are in it more often.
var everyShape = []string{
	shapeFan, shapeFan, shapeFan, shapeFan, shapeDeep, shapeDeep, shapeAsk, shapeBackground, shapeCancel, shapePlain,
	shapeInquire, shapeBeg,
}

// run has people work until it is over, and returns when each has ended or ctx is
// over.
func (c *crowd) run(ctx context.Context, people int) {
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			chance := rand.New(rand.NewPCG(c.seed, uint64(i)))
			for n := 0; !c.over.Load() && ctx.Err() == nil; n++ {
				c.talk(ctx, chance, i, fmt.Sprintf("crash-p%dc%d", i, n))
			}
		})
	}
	wg.Wait()
}

// carried is how many sub-agents ran so far, and how many requests were sent and not answered.
func (c *crowd) carried(ctx context.Context) (agents, ambiguous int) {
	c.load.mu.Lock()
	convs := slices.Clone(c.convs)
	c.load.mu.Unlock()
	for _, conv := range convs {
		s, err := c.node.Log.Snapshot(ctx, placeOf(conv))
		if err != nil {
			continue // it counts when it can be read
		}
		for _, task := range s.Tasks {
			if task.ID != host.Root {
				agents++
			}
		}
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	return agents, c.ledger.ambiguous
}

// talk is one conversation.
func (c *crowd) talk(ctx context.Context, chance *rand.Rand, person int, name string) {
	if !c.do(ctx, person, job{ID: name + "o", Do: "open", Text: name, Of: c.workspace}) {
		return
	}
	conv := c.ledger.makes(name + "o")
	if conv == "" {
		return // it was refused, which is on record
	}
	c.load.mu.Lock()
	c.convs = append(c.convs, conv)
	c.load.mu.Unlock()
	stop := c.watch(ctx, conv)
	defer stop()
	for n := range 1 + chance.IntN(3) {
		if c.over.Load() {
			return
		}
		id, shape := fmt.Sprintf("%sm%d", name, n), c.shapes[chance.IntN(len(c.shapes))]
		text, pause := request(chance, shape, id), time.Duration(chance.IntN(1500))*time.Millisecond
		if !c.do(ctx, person, job{ID: id, Do: "say", Conv: conv, Text: text}) {
			return
		}
		later := chance.IntN(3) == 0
		switch {
		case shape == shapeEndless:
			c.linger(ctx, 12*pause)
			c.do(ctx, person, job{ID: id + "x", Do: "cancel", Conv: conv})
		case shape == shapeCancel:
			wait(ctx, pause)
			c.do(ctx, person, job{ID: id + "x", Do: "cancel", Conv: conv})
		case later && shape != shapeAsk && shape != shapeInquire:
			wait(ctx, pause)
			c.do(ctx, person, job{ID: id + "y", Do: "say", Conv: conv, Text: "plain " + id + "y"})
		}
		if !c.attend(ctx, person, name, conv) || shape == shapeEndless {
			return // a further message may revive a turn that was cancelled before it was answered
		}
	}
}

// linger waits, for less long if it is over.
func (c *crowd) linger(ctx context.Context, most time.Duration) {
	for until := time.Now().Add(most); time.Now().Before(until) && !c.over.Load() && ctx.Err() == nil; {
		wait(ctx, 100*time.Millisecond)
	}
}

// request is a message of a shape.
func request(chance *rand.Rand, shape, id string) string {
	n := 3 + chance.IntN(widest-2)
	switch shape {
	case shapeDeep, shapeAsk, shapeInquire, shapeBeg, shapeEndless, shapeBrief:
		n = 2 + chance.IntN(2)
	case shapePlain:
		return shapePlain + " " + id
	}
	return fmt.Sprintf("%s %d %s", shape, n, id)
}

// attend stays with a conversation until nothing is under way in it. The person answers each
// approval and question at once.
func (c *crowd) attend(ctx context.Context, person int, name, conv string) bool {
	settled := map[string]job{}
	for ctx.Err() == nil {
		// The count of heard messages is read first: a message that comes in between begins a turn that is
		// seen.
		var state wire.Snapshot
		heard, err := c.heardOf(ctx, conv)
		if err == nil {
			err = c.caller.read(ctx, "/v1/conversations/"+conv, &state)
		}
		if err != nil {
			if ctx.Err() == nil {
				c.ledger.complain(fmt.Sprintf("read %s: %v", conv, err))
			}
			return false
		}
		for _, j := range asks(state, name, conv) {
			if _, done := settled[j.ID]; !done && c.do(ctx, person, j) {
				settled[j.ID] = j
			}
		}
		if heard >= state.Conversation.Number && idle(state) {
			c.again(ctx, settled)
			return true
		}
		wait(ctx, 200*time.Millisecond)
	}
	return false
}

// again repeats the decisions and answers after the agents that asked have ended: they were done,
// and the answer says so.
func (c *crowd) again(ctx context.Context, jobs map[string]job) {
	for _, j := range jobs {
		path, body := j.request()
		_, err := c.caller.persist(ctx, http.MethodPost, path, j.ID, body, func(error) {})
		if err != nil && ctx.Err() == nil {
			c.ledger.complain(fmt.Sprintf("%s %s was done, and is refused when it is sent again: %v", j.Do, j.ID, err))
		}
	}
}

// asks are the jobs of a person whom agents wait for.
func asks(state wire.Snapshot, name, conv string) (out []job) {
	for _, a := range state.Approvals {
		if a.Status == "open" {
			out = append(out, job{ID: name + "d" + a.ID, Do: "decide", Conv: conv, Of: a.ID, Text: a.Hash})
		}
	}
	for _, q := range state.Questions {
		if q.Status == "relayed" {
			out = append(out, job{ID: name + "a" + q.ID, Do: "answer", Conv: conv, Of: q.ID, Text: "answer to " + q.ID})
		}
	}
	return out
}

// idle tells whether nobody works in a conversation.
func idle(state wire.Snapshot) bool {
	for _, t := range state.Tasks {
		open := t.FinishedAt == nil
		if t.ID == host.Root {
			open = t.Status != "completed"
		}
		if open {
			return false
		}
	}
	return true
}

// heardOf counts the messages of people that are in the orchestrator's transcript or answered
// somebody.
func (c *crowd) heardOf(ctx context.Context, conv string) (int64, error) {
	var transcript wire.Page[wire.Message]
	heard, err := c.ledger.answers(conv), c.caller.read(ctx, "/v1/conversations/"+conv+"/agents/main/messages?limit=1000", &transcript)
	for _, m := range transcript.Items {
		for _, p := range m.Parts {
			if m.Speaker == "user" && p.Kind == "text" && !isNotice(p.Text) {
				heard++
			}
		}
	}
	return heard, err
}

// judgeList checks the list of conversations against the ledger: each that was opened is in it,
// once.
func (c *crowd) judgeList(t *testing.T, v *verdict) {
	t.Helper()
	times, cursor := map[string]int{}, ""
	for {
		var page wire.Conversations
		if err := c.caller.read(t.Context(), "/v1/conversations?limit=100&cursor="+url.QueryEscape(cursor), &page); err != nil {
			t.Error(err)
			return
		}
		for _, one := range page.Items {
			times[one.Title]++
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	for _, j := range c.ledger.done {
		if j.Do == "open" && times[j.Text] == 0 {
			v.Lost++
			v.Broken = append(v.Broken, "conversation "+j.Text+" is lost")
		}
	}
	for title, n := range times {
		if n > 1 {
			v.Doubled += n - 1
			v.Broken = append(v.Broken, fmt.Sprintf("conversation %s exists %d times", title, n))
		}
	}
}
