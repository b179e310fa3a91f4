//go:build services

package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/toolbox"
)

// partVariable holds, as JSON, the part that a process of the test's binary plays.
const partVariable = "RETINUE_CRASH_PART"

// part is the orders for a worker or a client.
type part struct {
	// Play is worker, server, client or caller: one that talks to servers, while a client is one with
	// the journal and the engine in its own hands.
	Play   string
	Dir    string
	Engine string
	DSN    string
	Model  string
	// NATS is where the live bus is; empty means that there is none between processes.
	NATS string
	// Address is where a server listens, Servers the addresses for callers, and Token their
	// credential.
	Address string
	Servers []string
	Token   string
	// LegEffects is how many local effects a leg carries out; zero means any number.
	LegEffects int
	// Family is how many sub-agents a leg runs; zero means the default.
	Family int
	// Watch has every point noted that a process reaches, and the process die where a file says so.
	Watch bool
	// Gather has calls wait for each other at a point, and the process die when all have arrived.
	Gather bool
	// Shell has commands run that say so, in a sandbox.
	Shell bool
}

func TestMain(m *testing.M) {
	if code, ours := toolbox.SandboxInit(os.Args[1:]); ours {
		os.Exit(code) // the first process of a sandbox
	}
	body := os.Getenv(partVariable)
	if body == "" {
		os.Exit(m.Run())
	}
	var p part
	err := json.Unmarshal([]byte(body), &p)
	if err == nil {
		err = p.play()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (p part) play() error {
	switch p.Play {
	case "client":
		return p.client()
	case "caller":
		return p.call()
	case "server":
		return p.serve()
	}
	return p.worker()
}

// options are those of a node in this world.
func (p part) options(log io.Writer) (app.NodeOptions, error) {
	key := "providers.scripted."
	flags := []config.Flag{
		{Name: "--set", Key: "data_dir", Value: p.data()},
		{Name: "--set", Key: "journal.dsn", Value: "{env:DSN}"},
		{Name: "--set", Key: key + "kind", Value: "anthropic"},
		{Name: "--set", Key: key + "base_url", Value: p.Model},
		{Name: "--set", Key: key + "key", Value: "{env:KEY}"},
		{Name: "--set", Key: key + "concurrency", Value: "500"},
		{Name: "--set", Key: key + "requests_per_minute", Value: "1000000"},
		{Name: "--set", Key: "tiers.fast", Value: "scripted/fast"},
		{Name: "--set", Key: "tiers.balanced", Value: "scripted/balanced"},
		{Name: "--set", Key: "tiers.strong", Value: "scripted/strong"},
	}
	if p.Family > 0 {
		flags = append(flags, config.Flag{Name: "--set", Key: "worker.family", Value: fmt.Sprint(p.Family)})
	}
	if p.NATS != "" {
		flags = append(flags, config.Flag{Name: "--set", Key: "live.nats_url", Value: "{env:NATS}"})
	}
	if p.Address != "" {
		flags = append(flags, config.Flag{Name: "--set", Key: "serve.address", Value: p.Address})
	}
	loaded, err := config.LoadSettings(config.Inputs{
		ConfigHome: filepath.Join(p.Dir, "config"), DataHome: p.Dir, Environ: []string{}, Flags: flags,
	})
	if err != nil {
		return app.NodeOptions{}, err
	}
	tools, err := p.toolbox()
	if err != nil {
		return app.NodeOptions{}, err
	}
	return app.NodeOptions{
		Loaded: loaded, Engine: p.Engine, EngineTLS: app.EngineClient(p.credentials()), LegEffects: p.LegEffects, Tools: tools,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Lookup: func(name string) (string, bool) {
			return map[string]string{"DSN": p.DSN, "KEY": "none", "NATS": p.NATS}[name], true
		},
		Fault: p.fault(),
	}, nil
}

// credentials is the folder of the certificates that let one into the engine.
func (p part) credentials() string { return filepath.Join(p.Dir, "engine-tls") }

func (p part) data() string { return filepath.Join(p.Dir, "data") }

// document is where the document is that the servers serve.
func (p part) document() string { return filepath.Join(p.Dir, "openapi.json") }

func (p part) ledger() string { return filepath.Join(p.Dir, "effects") }

// carried is where a worker notes the legs that it carries.
func (p part) carried(pid int) string { return filepath.Join(p.Dir, fmt.Sprintf("carried.%d", pid)) }

// begins is where a worker notes when it began which legs.
func (p part) begins(pid int) string { return filepath.Join(p.Dir, fmt.Sprintf("begins.%d", pid)) }

// workspace is where commands run.
func (p part) workspace() string { return filepath.Join(p.Dir, "work") }

// carriedBy are the legs that a worker had begun and not ended.
func (p part) carriedBy(pid int) []string {
	text, err := os.ReadFile(p.carried(pid))
	if err != nil {
		return nil
	}
	open := map[string]int{}
	for line := range strings.Lines(string(text)) {
		what, whose, _ := strings.Cut(strings.TrimSpace(line), " ")
		if what == "begin" {
			open[whose]++
		} else {
			open[whose]--
		}
	}
	var out []string
	for whose, n := range open {
		if n > 0 {
			out = append(out, whose)
		}
	}
	return out
}

// fault notes which legs a process carries, and ends it at the point where it is to die.
func (p part) fault() host.Fault {
	return func(point host.Point, ref journal.Ref, task string) {
		if point == host.PointLegBegin {
			note(p.carried(os.Getpid()), "begin "+ref.Conversation+" "+task)
			note(p.begins(os.Getpid()), fmt.Sprint(time.Now().UnixMilli(), " ", ref.Conversation, " ", task))
		}
		if point == host.PointLegEnd {
			note(p.carried(os.Getpid()), "end "+ref.Conversation+" "+task)
		}
		if point == host.PointMailFlagged { // when it is reached is by chance, so that it is none to die at
			p.stumble(ref.Conversation)
			return
		}
		if p.Watch {
			p.reach(point)
		}
		if p.Gather {
			p.gather(point, ref.Conversation)
		}
	}
}

// reached is where all processes note the points that they reach, and fate where the test writes at
// which one, and the how manieth time, the process that reaches it dies.
func (p part) reached(point host.Point) string {
	return filepath.Join(p.Dir, "reached."+strings.ReplaceAll(string(point), "/", "."))
}

func (p part) fate() string { return filepath.Join(p.Dir, "fate") }

// reach notes a point and ends the process if this is the time.
func (p part) reach(point host.Point) {
	nth := note(p.reached(point), "x") / 2
	fate, err := os.ReadFile(p.fate())
	if err != nil || string(fate) != fmt.Sprintf("%s %d", point, nth) || os.Remove(p.fate()) != nil {
		return
	}
	note(filepath.Join(p.Dir, "died"), string(fate))
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
		select {}
	}
}

// stumbling is the file in which the test names the conversation whose workflow task fails. The
// test writes spoken after it has sent a message there, and the worker stumbled when the task fails
// after that.
func (p part) stumbling() string { return filepath.Join(p.Dir, "stumbling") }

func (p part) spoken(conv string) string { return filepath.Join(p.Dir, "spoken."+conv) }

func (p part) stumbled(conv string) string { return filepath.Join(p.Dir, "stumbled."+conv) }

// stumbleAfter is how long a workflow task waits for the message: after a second the SDK takes it
// for stuck.
const stumbleAfter = 900 * time.Millisecond

// stumble fails the workflow task that it is called in, once, while a leg of the same agent is
// under way here: the engine has it done again, together with what has arrived meanwhile.
func (p part) stumble(conv string) {
	text, err := os.ReadFile(p.stumbling())
	if err != nil || string(text) != conv || !slices.Contains(p.carriedBy(os.Getpid()), conv+" "+host.Root) ||
		os.Remove(p.stumbling()) != nil {
		return
	}
	for deadline := time.Now().Add(stumbleAfter); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(p.spoken(conv)); err == nil {
			note(p.stumbled(conv), "x")
			break
		}
	}
	panic("the workflow task fails, as it was told to")
}

// note appends a line in one write, so that all of it is written or nothing, and stays when the
// writer is killed. It returns where in the file the line ends, whatever others append meanwhile.
func note(file, line string) int64 {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close() //nolint:errcheck // nothing is buffered
	if _, err := f.WriteString(line + "\n"); err != nil {
		panic(err)
	}
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		panic(err)
	}
	return end
}
