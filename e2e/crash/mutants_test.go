//go:build services

package crash

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/retinue-dev/retinue/internal/measure"
)

var play = flag.Bool("mutants", false, "build the host with each fault and play the scenarios against it, which takes minutes")

// mutant is a fault in the host: each edit replaces what stands exactly once in a file. Seen is
// what must notice: a scenario, or a test of the host without an engine's server.
type mutant struct {
	Name  string
	Edits []edit
	Seen  string
}

type edit struct {
	File, Old, New string
}

// mutants is every fault that the host is seeded with.
var mutants = []mutant{
	{
		Name: "acknowledged before it is committed", Seen: "database away",
		Edits: []edit{{
			"durable/client.go", "	if err != nil {\n		return journal.Written{}, err\n	}\n	c.Fault.At(host.PointPosted",
			"	if err != nil {\n		return journal.Written{}, nil\n	}\n	c.Fault.At(host.PointPosted",
		}},
	},
	{
		Name: "mail not swept", Seen: "engine away",
		Edits: []edit{{"durable/sweep.go", "		err := c.deliver(ctx, p)\n", "		_, err := p, error(nil)\n"}},
	},
	{
		Name: "carried children forgotten by the next leg", Seen: "die after an append",
		Edits: []edit{{"leg/leg.go", "range l.carried() {", "range l.carried()[:0] {"}},
	},
	{
		Name: "result recorded twice", Seen: "TestMemory",
		Edits: []edit{{"journal/plan.go", "fenced := b.fenced(known)", "fenced := b.fenced(nil)"}},
	},
	{
		Name: "step recorded without its rows", Seen: "TestDelegationWithoutAnEngine",
		Edits: []edit{{
			"leg/step.go", "	rows := append(slices.Clone(end.rows), step)\n",
			"	rows := slices.Clone(end.rows)\n	if err := l.record(ctx, []journal.Row{step}); err != nil {\n		return err\n	}\n",
		}},
	},
	{
		Name: "mail delivered before its step", Seen: "TestDelegationWithoutAnEngine",
		Edits: []edit{{
			"leg/step.go", "		rows = append(rows, journal.MailDelivered{ID: end.mail.ID})\n",
			"		if err := l.record(ctx, []journal.Row{journal.MailDelivered{ID: end.mail.ID}}); err != nil {\n			return err\n		}\n",
		}},
	},
	{
		Name: "what is left to do is not folded", Seen: "die after an append",
		Edits: []edit{{"leg/fold.go", "		l.forget(e)\n		l.owe(s.Effects)\n", "		l.forget(e)\n		_ = s\n"}},
	},
	{
		Name: "fence dropped", Seen: "TestTheLegThatIsBehindBeginsNothing",
		Edits: []edit{{"leg/fence.go", "	return l.fenced(ctx, rows, written, tries > 1)\n", "	_ = written\n	return nil\n"}},
	},
	{
		Name: "once tool retried", Seen: "die after a once tool",
		Edits: []edit{{"host/run.go", "	if written[0].Existed {\n", "	if len(written) == 0 {\n"}},
	},
	{
		Name: "probe not heeded", Seen: "die in a tool that can tell",
		Edits: []edit{{"host/run.go", "	case happened == tool.HappenedYes:\n", "	case happened == tool.HappenedYes && p.Agent == \"\":\n"}},
	},
	{
		Name: "mail that has to wait is thrown away", Seen: "TestMailThatHasToWait",
		Edits: []edit{{"leg/mail.go", "		l.held = true\n		return nil\n", "		return []journal.Row{journal.MailDelivered{ID: post.ID}}\n"}},
	},
	{
		Name: "a look at a leg under way is forgotten", Seen: "TestALookDuringALeg",
		Edits: []edit{{"durable/workflow.go", "		r.look = true\n		r.flagLeg(ctx)\n", "		r.look = r.leg == nil\n"}},
	},
	{
		Name: "who speaks starts no run", Seen: "TestASweepSlowsDown",
		Edits: []edit{{"durable/client.go", "	if to != host.Root {\n		return c.Engine.Signal", "	if to != \"\" {\n		return c.Engine.Signal"}},
	},
	{
		Name: "background end told to nobody", Seen: "TestABackgroundTaskWithoutAnEngine",
		Edits: []edit{{"leg/post.go", "	if l.in.Parent != \"\" && l.in.N >= 0 {", "	if l.in.Parent == \"-\" && l.in.N >= 0 {"}},
	},
	{
		Name: "a family leaves a child's end behind", Seen: "undisturbed",
		Edits: []edit{{
			"leg/family.go", "		end, err := l.endOf(work, task)\n		return completion{event: end, err: err}\n",
			"		_ = task\n		return completion{rests: &Result{}}\n",
		}},
	},
	{
		Name: "a leg goes on that the engine has given up", Seen: "TestALegThatIsGivenUp",
		Edits: []edit{{
			"leg/listen.go", "		return true, l.abandon(ctx, context.Cause(l.family.watch.Gone))\n",
			"		time.Sleep(time.Millisecond)\n",
		}},
	},
	{
		Name: "what a lost leg had ordered is taken for never begun", Seen: "TestARunIsOrderedOnce",
		Edits: []edit{{"leg/leg.go", "	doubt := l.family.again || l.position.N > known\n", "	doubt := l.position.N < known\n"}},
	},
	{
		Name: "a sub-agent that had begun is forgotten", Seen: "TestALostLegAndAnApproval",
		Edits: []edit{{"leg/leg.go", "	if l.position.N > 0 && l.begunHook != nil {\n", "	if l.position.N < 0 && l.begunHook != nil {\n"}},
	},
	{
		Name: "the legs of a lost worker stay its own", Seen: "TestPresence",
		Edits: []edit{{"durable/presence.go", "		case err != nil && !isHere(ctx, here, grace):\n", "		case err != nil && isHere(ctx, here, grace):\n"}},
	},
	{
		Name: "a released leg breaks its run", Seen: "TestTheLegOfALostWorker",
		Edits: []edit{{"durable/workflow.go", " && final.Type() != errorLost:\n", ":\n"}},
	},
	{
		Name: "a worker that lives is not present again", Seen: "TestAWorkerWhosePresenceDoesNotBegin",
		Edits: []edit{{"durable/presence.go", "	if missing {\n		_ = p.tell(ctx)", "	if missing && p.begun > 0 {\n		_ = p.tell(ctx)"}},
	},
	{
		Name: "a cache is taken for all that happened", Seen: "TestACacheMayBeBehind",
		Edits: []edit{{"leg/fold.go", "	after := l.position.N\n", "	after := l.position.N\n	if after > 0 {\n		return nil\n	}\n"}},
	},
	{
		Name: "another's step is taken for one's own", Seen: "TestAStepThatMayBeWritten",
		Edits: []edit{{"leg/fence.go", "	if !doubt {\n		return errBehind\n	}\n", "	if doubt {\n		return nil\n	}\n	if !doubt {\n		return errBehind\n	}\n"}},
	},
	{
		Name: "a child with a run of its own is carried too", Seen: "TestChildrenApart",
		Edits: []edit{{"leg/family.go", "c.State == agent.ChildRunning && !c.Apart {", "c.State == agent.ChildRunning {"}},
	},
	{
		Name: "the reconciler takes the living for lost", Seen: "TestReconcile",
		Edits: []edit{{"durable/reconcile.go", "	case runs:\n", "	case runs && r == nil:\n"}},
	},
	{
		Name: "what the engine has lost stays lost", Seen: "TestChildrenApart",
		Edits: []edit{{"leg/apart.go", "c.State == agent.ChildRunning && c.Apart {", "c.State == agent.ChildRunning && c.Apart && c.Waiting != \"\" {"}},
	},
	{
		Name: "a run of its own that is not on record", Seen: "TestARunIsOrderedOnce",
		Edits: []edit{{"leg/apart.go", "agent.ChildStarted{At: l.At(), Task: e.Task, Apart: true}", "agent.ChildStarted{At: l.At(), Task: e.Task}"}},
	},
	{
		Name: "a saved state without what is left to do", Seen: "TestASavedStateHasWhatIsLeftToDo",
		Edits: []edit{{"leg/fold.go", "	return json.Marshal(saved{Position: l.position, Todo: todo})\n", "	return json.Marshal(saved{Position: l.position, Todo: todo[:0]})\n"}},
	},
	{
		Name: "nobody wakes an agent whose time has come", Seen: "TestAnApproval",
		Edits: []edit{{"durable/workflow.go", "			r.tick = want\n", "			r.tick = 0\n"}},
	},
	{
		Name: "mail of a newer build thrown away", Seen: "TestMailOfANewerBuild",
		Edits: []edit{{"leg/mail.go", "	return nil, fmt.Errorf(\"%w read it: the topic %q is unknown\", errNewer, p.Topic)\n", "	return nil, nil\n"}},
	},
	{
		Name: "words for an agent that has finished are lost", Seen: "TestMailForNobody",
		Edits: []edit{{"leg/post.go", "	if p.Number != 0 && p.To != host.Root {\n", "	if p.Number != 0 && p.To == host.Root {\n"}},
	},
}

// TestEveryMutantFits shows, without building anything, that each mutant still has its place in the
// source.
func TestEveryMutantFits(t *testing.T) {
	for _, m := range append(slices.Clone(mutants), newerBuild) {
		if m.engineless() {
			m.folder(t)
		}
		for _, e := range m.Edits {
			text, err := os.ReadFile(e.path(t))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), e.Old); n != 1 || e.Old == e.New {
				t.Errorf("%s: its place occurs %d times in %s", m.Name, n, e.File)
			}
		}
	}
}

// folder is where the test is that must notice, of those where the source of the host is.
func (m mutant) folder(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"durable", "host", "leg", "journal/journaltest"} {
		files, err := filepath.Glob(filepath.Join(source(t), name, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "\nfunc "+m.Seen+"(t *testing.T) {\n") {
				return filepath.Join(source(t), filepath.FromSlash(name))
			}
		}
	}
	t.Fatalf("%s: there is no test %s", m.Name, m.Seen)
	return ""
}

// TestMutants plays to each mutant the scenario that must notice it.
func TestMutants(t *testing.T) {
	if !*play {
		t.Skip("run make crash/mutants")
	}
	var caught atomic.Int64
	seeded := 0
	t.Run("each", func(t *testing.T) {
		for _, m := range mutants {
			if !strings.Contains(m.Name, *only) {
				continue
			}
			seeded++
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				binary := m.build(t)
				out, failed := "", false
				for play := 0; play < plays && !failed; play++ {
					out, failed = m.play(t, binary)
				}
				if !failed {
					t.Errorf("NOT CAUGHT  %s\n%s", m.Name, out)
					return
				}
				caught.Add(1)
				t.Logf("caught by %-22q %s: %s", m.Seen, m.Name, complaint(out))
			})
		}
	})
	measure.Figure(t, "crash/mutants: %d caught / %d seeded", caught.Load(), seeded)
}

// complaint is the first thing that a failed test said.
func complaint(out string) string {
	for line := range strings.Lines(out) {
		if at, text, ok := strings.Cut(strings.TrimSpace(line), "_test.go:"); ok && !strings.Contains(at, " ") {
			_, text, _ = strings.Cut(text, ": ")
			return text
		}
	}
	return strings.TrimSpace(out)
}

// plays is how often a scenario may be played until it notices: some wait for a moment, and may
// miss it.
const plays = 3

// build makes a test of the mutant.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary, pkg := filepath.Join(dir, "mutant.test"), "."
	if m.engineless() {
		pkg = m.folder(t)
	}
	out, err := exec.Command("go", "test", "-tags", "services", "-c", "-overlay", m.overlay(t, dir), "-o", binary, pkg).CombinedOutput() //nolint:gosec // of this repository
	if err != nil {
		t.Fatalf("%s does not build, so it proves nothing: %v\n%s", m.Name, err, out)
	}
	return binary
}

// engineless reports whether a test of the host must notice, and not a scenario.
func (m mutant) engineless() bool { return strings.HasPrefix(m.Seen, "Test") }

// source is where the source of the host is, and that of the journal.
func source(t *testing.T) string {
	t.Helper()
	return filepath.Join(repository(t), "internal")
}

// play has the mutant's scenario or test played, and reports whether it found something wrong. A
// process that did not start, or a scenario that did not end, is nothing that it found.
func (m mutant) play(t *testing.T, binary string) (string, bool) {
	t.Helper()
	if m.engineless() {
		cmd := exec.Command(binary, "-test.run", "^"+m.Seen+"$", "-test.timeout=120s") //nolint:gosec // just built
		cmd.Dir = m.folder(t)
		out, err := cmd.CombinedOutput()
		return string(out), err != nil && strings.Contains(string(out), m.Seen)
	}
	run := "^TestScenarios$/^" + strings.ReplaceAll(m.Seen, " ", "_") + "$"
	out, err := exec.Command(binary, "-test.run", run, "-scenarios", "-test.timeout=300s").CombinedOutput() //nolint:gosec // just built
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	text := string(out)
	return text, err != nil && strings.Contains(text, complains) && !strings.Contains(text, notReady) && !strings.Contains(text, notBack)
}

func (e edit) path(t *testing.T) string {
	t.Helper()
	return filepath.Join(source(t), e.File)
}

// overlay writes the changed files and the list that the go command takes.
func (m mutant) overlay(t *testing.T, dir string) string {
	t.Helper()
	replace := map[string]string{}
	for _, e := range m.Edits {
		original := e.path(t)
		changed, before := replace[original]
		if !before {
			changed = filepath.Join(dir, fmt.Sprint(len(replace), filepath.Base(e.File)))
			replace[original] = changed
		}
		text, err := os.ReadFile(map[bool]string{false: original, true: changed}[before]) //nolint:gosec // of this repository
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(changed, []byte(strings.Replace(string(text), e.Old, e.New, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
