//go:build services

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/porttest"
)

var rolling = flag.Bool("rolling", false, "upgrade workers and servers one after another under load")

const (
	// rollEvery is the time between two restarts.
	rollEvery = 4 * time.Second
	// upgraders is how many people talk meanwhile.
	upgraders = 8
	// workspaceName is where they do.
	workspaceName = "shop"
	// resting is how long a worker that is told to end may take.
	resting = 60 * time.Second
)

// rollingShapes are what people ask for during an upgrade.
var rollingShapes = []string{
	shapeFan, shapeFan, shapeDeep, shapeDeep, shapeAsk, shapeBackground, shapeBackground, shapeCancel, shapePlain, shapeInquire, shapeBeg,
	shapeStamps,
}

// TestRolling upgrades an installation of the shipped program under load, one worker and one server
// after another, to a build that records an event, a row and fields which the build before does not
// know. One worker goes back for a while, and one server for good. No run breaks: an older worker
// leaves rows that it cannot read to a newer one. The older server shows every conversation.
//
// Covers: P1, P2, P4, P5, P6, P7.
func TestRolling(t *testing.T) {
	if !*rolling {
		t.Skip("run make crash/rolling")
	}
	*seed = measure.Seed(t, *seed)
	newer := buildNewer(t)
	w := newWorld(t, worldOptions{Signed: true})
	d := newDeployment(w, filepath.Join(repository(t), "bin", "retinue"), newer, 3, 2)
	l := newCrowd(w)
	l.seed, l.shapes, l.workspace = *seed, rollingShapes, workspaceName
	l.startClients("caller", 2)
	v := l.endure(t, &nemesis{load: l.load}, upgraders, func(ctx context.Context) {
		d.roll(ctx, w.workers[0], newer)
		d.roll(ctx, w.servers[0], newer)
		d.roll(ctx, w.workers[1], newer)
		d.roll(ctx, w.servers[1], newer)
		d.roll(ctx, w.workers[1], d.older)
		d.roll(ctx, w.servers[1], d.older)
		d.roll(ctx, w.workers[1], newer)
		d.roll(ctx, w.workers[2], newer)
		wait(ctx, rollEvery)
	})
	report(t, "crash/rolling", v, nil)
	l.judgeLegs(t)
	if v.Indeterminate > 0 {
		t.Errorf("of %d calls nobody knows how they ended, although nobody was killed", v.Indeterminate)
	}
	known := l.judgeNewer(t)
	left := d.leftToNewer(t)
	l.judgeOlderServer(t, w.proxies[1].url())
	measure.Figure(t, "crash/rolling: %d restarts between two builds; %d steps, %d rows, %d fields and %d pieces of mail that only the newer knows, %d legs left to it; turns %v",
		d.restarts, known.steps, known.rows, known.fields, known.mail, left, v.Turns)
	if n := d.beyond(); n > 0 {
		t.Errorf("older workers recorded %d steps of tasks that they cannot read", n)
	}
	if known.steps == 0 || known.rows == 0 || known.fields == 0 || known.mail == 0 || left == 0 {
		t.Error("something of the newer build was not met by the older, so that nothing is shown of it")
	}
	w.audited(t)
}

// deployment is the shipped program at work in a world, some processes of one build and some of
// another.
type deployment struct {
	*world
	older    string
	newer    string
	restarts int

	mu    sync.Mutex
	build map[string]string
}

// newDeployment starts workers and servers of the older build. The answers to callers are checked
// against the document of the newer, which knows all that the older says.
func newDeployment(w *world, older, newer string, workers, servers int) *deployment {
	w.t.Helper()
	d := &deployment{world: w, older: older, newer: newer, build: map[string]string{}}
	w.part.NATS, w.part.Token = natsURL(), "rtl_crash"
	for _, role := range d.signs() {
		w.psql("create role " + role + " login in role " + postgres.Role)
	}
	for _, dir := range []string{w.part.workspace(), w.part.data()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
	d.write(filepath.Join(w.part.data(), "api.token"), []byte(w.part.Token))
	if err := os.Symlink(filepath.Join(w.part.workspace(), "effects"), w.part.ledger()); err != nil {
		w.t.Fatal(err)
	}
	d.settings()
	document, err := exec.Command(newer, "openapi").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	d.write(w.part.document(), document)
	for i := range workers {
		p := d.program(fmt.Sprint("worker", i), "worker", "--workspace", workspaceName+"="+w.part.workspace())
		w.workers = append(w.workers, p)
	}
	for i := range servers {
		address := fmt.Sprintf("127.0.0.1:%d", porttest.Hold(w.t))
		p := d.program(fmt.Sprint("server", i), "serve", "--set", "serve.address="+address,
			"--set", fmt.Sprintf("serve.health=127.0.0.1:%d", porttest.Hold(w.t)))
		w.servers, w.proxies = append(w.servers, p), append(w.proxies, newProxy(w.t, address))
		if _, err := apitest.FetchDocument(w.t.Context(), "http://"+address); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, p := range w.proxies {
		p.calm.Store(true)
		w.part.Servers = append(w.part.Servers, p.url())
	}
	return d
}

func (d *deployment) write(file string, text []byte) {
	d.t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// settings are those of all programs. A leg carries few sub-agents, so that others have runs of
// their own.
func (d *deployment) settings() {
	d.t.Helper()
	type object map[string]any
	tls := app.EngineClient(d.part.credentials())
	text, err := json.Marshal(object{
		"data_dir": d.part.data(), "journal": object{"dsn": "{env:DSN}"}, "live": object{"nats_url": "{env:NATS}"},
		"engine":    object{"temporal_address": d.part.Engine, "tls": object{"ca": tls.CA, "cert": tls.Cert}},
		"providers": object{"scripted": object{"kind": "anthropic", "base_url": d.part.Model, "key": "{env:KEY}", "concurrency": 500, "requests_per_minute": 1000000}},
		"tiers":     object{"fast": "scripted/fast", "balanced": "scripted/balanced", "strong": "scripted/strong"},
		"worker":    object{"family": 2}, "sandbox": object{"allow_root": true},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.write(filepath.Join(d.dir, "config", "retinue", "retinue.yaml"), text)
}

// program starts a process of the older build.
func (d *deployment) program(name string, args ...string) *process {
	d.build[name] = d.older
	p := d.newProcess(name, func() *exec.Cmd {
		d.mu.Lock()
		defer d.mu.Unlock()
		cmd := exec.Command(d.build[name], args...) //nolint:gosec // just built
		cmd.Dir = d.dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "XDG_CONFIG_HOME=" + filepath.Join(d.dir, "config"),
			"DSN=" + strings.Replace(d.part.DSN, "//crash@", "//"+d.signs()[d.build[name]]+"@", 1), "NATS=" + d.part.NATS, "KEY=none",
		}
		return cmd
	}, nil)
	p.start()
	return p
}

// signs is what the programs of each build are called where they record something.
func (d *deployment) signs() map[string]string {
	return map[string]string{d.older: "older", d.newer: "newer"}
}

// beyond counts the steps that older workers recorded of tasks which they could not read any more.
func (d *deployment) beyond() (n int) {
	_, _ = fmt.Sscan(d.psql(`select count(*) from entries e where kind = 'stepped' and writer = 'older' and exists (
		select from entries h where h.conversation_id = e.conversation_id and h.task_id = e.task_id and h.kind = 'stepped'
		and h.seq < e.seq and h.body->'event'->>'name' = 'Hailed')`), &n)
	return n
}

// roll ends a process as an operator does and starts it again with a build.
func (d *deployment) roll(ctx context.Context, p *process, build string) {
	d.t.Helper()
	wait(ctx, rollEvery)
	p.mu.Lock()
	exited := p.exited
	p.mu.Unlock()
	p.signal(syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(resting):
		d.t.Errorf("%s does not end; see %s", p.name, p.log)
		p.kill()
	}
	d.mu.Lock()
	d.build[p.name] = build
	d.mu.Unlock()
	d.revive(p)
	d.restarts++
}

// leftToNewer counts the legs that older workers could not continue.
func (d *deployment) leftToNewer(t *testing.T) (n int) {
	t.Helper()
	for _, p := range d.workers {
		text, err := os.ReadFile(p.log)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(text, []byte("a newer build has to"))
	}
	return n
}

// newerThings are what a build recorded that this one does not know.
type newerThings struct{ steps, rows, fields, mail int }

// judgeNewer counts the records that this build does not know. All mail among them was read.
func (c *crowd) judgeNewer(t *testing.T) (found newerThings) {
	t.Helper()
	for _, conv := range c.convs {
		for after := int64(0); ; {
			entries, err := c.node.Log.Entries(t.Context(), placeOf(conv), after, journal.PageMaxLimit)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) == 0 {
				break
			}
			for _, e := range entries {
				after = e.Seq
				//nolint:gochecksumtype // the others are known
				switch r := e.Row.(type) {
				case journal.Newer:
					found.rows++
				case journal.Stepped:
					if _, err := agent.UnmarshalEvent(r.Event); err != nil {
						found.steps++
					}
				case journal.MailPosted:
					if _, err := agent.UnmarshalEvent(r.Event); err != nil && len(r.Event) > 0 {
						found.mail++
					}
				}
			}
		}
		boxes, err := c.node.Log.Mailboxes(t.Context(), placeOf(conv))
		if err != nil || len(boxes) > 0 {
			t.Errorf("mail waits in %s for %v: %v", conv, boxes, err)
		}
	}
	_, _ = fmt.Sscan(c.psql("select count(*) from entries where kind = 'status_changed' and body ? 'mood'"), &found.fields)
	return found
}

// judgeOlderServer has the older server alone show every conversation: the list, the state, the
// messages and the stream of each.
func (c *crowd) judgeOlderServer(t *testing.T, url string) {
	t.Helper()
	bases := c.caller.bases
	defer func() { c.caller.bases = bases }()
	c.caller.bases = []string{url}
	ctx, cancel := context.WithTimeout(t.Context(), watchedWithin)
	defer cancel()
	var v verdict
	c.judgeList(t, &v)
	for conv, saw := range c.watched {
		if err := c.judgeSeen(ctx, conv, saw, &v); err != nil {
			t.Errorf("the older server shows no more: %v", err)
			break
		}
		for _, path := range []string{"", "/messages", "/agents/main/messages", "/agents/main/tool-calls", "/export"} {
			text, err := c.caller.persist(ctx, http.MethodGet, "/v1/conversations/"+conv+path, "", nil, func(err error) { t.Errorf("%s%s: %v", conv, path, err) })
			if err != nil || len(text) == 0 {
				t.Errorf("%s%s: %d bytes, %v", conv, path, len(text), err)
			}
			if path == "/export" && !strings.HasSuffix(strings.TrimSpace(string(text)), "}") {
				t.Errorf("the export of %s is cut off", conv)
			}
		}
	}
	for _, what := range v.Broken {
		t.Errorf("the older server: %s", what)
	}
	measure.Figure(t, "crash/rolling: the older server alone shows %d conversations with what it does not know, %d of them otherwise than they are",
		len(c.watched), len(v.Broken))
}
