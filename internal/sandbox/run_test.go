//go:build services && linux

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/chat"
)

func TestOutcomes(t *testing.T) {
	work := tempDir(t)
	for _, tier := range []Tier{TierBubblewrap, TierNone} {
		b := openBox(t, tier)
		for _, c := range []struct {
			argv []string
			want Outcome
		}{
			{shell(`exit 0`), Outcome{Ending: EndExited}},
			{shell(`exit 7`), Outcome{Ending: EndExited, Code: 7}},
			{shell(`exit 137`), Outcome{Ending: EndExited, Code: 137}},
			{shell(`kill -9 $$`), Outcome{Ending: EndExited, Code: -1, Signal: syscall.SIGKILL}},
			{shell(`kill -TERM $$`), Outcome{Ending: EndExited, Code: -1, Signal: syscall.SIGTERM}},
			{shell(`trap 'exit 3' TERM; kill -TERM 0; sleep 5`), Outcome{Ending: EndExited, Code: 3}},
			{[]string{"true"}, Outcome{Ending: EndExited}},
			{shell(`sleep 100`), Outcome{Ending: EndTimedOut, Code: -1}},
		} {
			wall := time.Minute
			if c.want.Ending == EndTimedOut {
				wall = 300 * time.Millisecond
			}
			got, err := b.Run(t.Context(), Command{Argv: c.argv, Workspace: work, Limits: Limits{Wall: wall}})
			if err != nil || got.Ending != c.want.Ending || got.Code != c.want.Code || len(got.Replaced) > 0 || got.Signal != c.want.Signal {
				t.Errorf("%s: %q: %+v, %v", tier, c.argv, got, err)
			}
		}
		for _, argv := range [][]string{{"no-such-program"}, {"/no/such/program"}} {
			if _, err := b.Run(t.Context(), Command{Argv: argv, Workspace: work}); err == nil {
				t.Errorf("%s: %q ran", tier, argv)
			}
		}
	}
}

func TestStreams(t *testing.T) {
	work := tempDir(t)
	for _, tier := range []Tier{TierBubblewrap, TierNone} {
		b := openBox(t, tier)
		o, err := b.Run(t.Context(), Command{Argv: shell(`cat; echo out; echo err >&2`), Workspace: work, Stdin: strings.NewReader("in\n")})
		if err != nil || o.Stdout.String() != "in\nout\n" || o.Stderr.String() != "err\n" {
			t.Errorf("%s: %+v, %v", tier, o, err)
		}
		o, err = b.Run(t.Context(), Command{Argv: shell(`echo 1; echo 2 >&2; echo 3`), Workspace: work, Merge: true})
		if err != nil || o.Stdout.String() != "1\n2\n3\n" || o.Stderr.String() != "" {
			t.Errorf("%s: %+v, %v", tier, o, err)
		}
		p, err := b.Start(t.Context(), Command{Argv: shell(`while read l; do echo "got $l"; done; echo bye >&2`), Workspace: work})
		must(t, err)
		from := bufio.NewReader(p.Stdout)
		for i := range 3 {
			if _, err := fmt.Fprintln(p.Stdin, i); err != nil {
				t.Fatal(err)
			}
			if line, err := from.ReadString('\n'); err != nil || line != fmt.Sprintf("got %d\n", i) {
				t.Errorf("%s: %q, %v", tier, line, err)
			}
		}
		must(t, p.Stdin.Close())
		if o, err := p.Wait(); err != nil || o.Code != 0 || o.Stderr.String() != "bye\n" {
			t.Errorf("%s: %+v, %v", tier, o, err)
		}
		must(t, p.Stdout.Close())
	}
}

func TestTheEnvironmentIsAnAllowList(t *testing.T) {
	t.Setenv("RETINUE_SECRET", "token")
	t.Setenv("RETINUE_GIVEN", "given")
	for _, tier := range []Tier{TierBubblewrap, TierNone} {
		b, err := Open(t.Context(), Options{Tier: tier, Pass: []string{"RETINUE_GIVEN", "RETINUE_MISSING"}})
		must(t, err)
		o, err := b.Run(t.Context(), Command{Argv: []string{"env"}, Workspace: tempDir(t), Env: []string{"A=b", "LANG=de"}})
		must(t, err)
		for line := range strings.Lines(o.Stdout.String()) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch name {
			case "PATH", "HOME", "TMPDIR", "TERM", "USER", "LOGNAME", "PWD", "SHLVL", "_":
			case "A", "LANG", "RETINUE_GIVEN":
				if value != map[string]string{"A": "b", "LANG": "de", "RETINUE_GIVEN": "given"}[name] {
					t.Errorf("%s: %s", tier, line)
				}
			default:
				t.Errorf("%s: %s is there", tier, name)
			}
		}
		must(t, b.Close())
	}
}

func TestACacheIsKeptFromRunToRun(t *testing.T) {
	for _, tier := range []Tier{TierBubblewrap, TierNone} {
		b, work, cache := openBox(t, tier), tempDir(t), tempDir(t)
		const use = `dir=${XDG_CACHE_HOME:-$HOME/.cache}; echo run >> "$dir/runs" && cat "$dir/runs"`
		for run := range 3 {
			o, err := b.Run(t.Context(), Command{Argv: shell(use), Workspace: work, Cache: cache})
			must(t, err)
			if want := strings.Repeat("run\n", run+1); o.Stdout.String() != want {
				t.Errorf("%s: %q, not %q: %s", tier, o.Stdout, want, o.Stderr)
			}
		}
	}
}

func TestAFolderOutsideIsReadAndNotWritten(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "retinue-toolchain-") //nolint:usetesting // it must lie below /var
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.WriteFile(filepath.Join(dir, "version"), []byte("7\n"), 0o644))
	b, err := Open(t.Context(), Options{Tier: TierBubblewrap, ReadOnly: []string{dir}})
	must(t, err)
	o, err := b.Run(t.Context(), Command{
		Workspace: tempDir(t), Env: []string{"TOOLS=" + dir},
		Argv: shell(`cat "$TOOLS/version"; touch "$TOOLS/mine" 2>/dev/null || echo kept; ls /var/lib 2>/dev/null`),
	})
	must(t, err)
	if o.Stdout.String() != "7\nkept\n" {
		t.Errorf("%s%s", o.Stdout, o.Stderr)
	}
	must(t, b.Close())
}

func TestProgramsAreFoundWhereWeFindThem(t *testing.T) {
	o := Options{ReadOnly: []string{"/opt/tools"}}
	got := o.searchPath("/usr/local/go/bin:/root/bin:/opt/tools/bin:relative:/usr/bin:/usr/../etc:/optical")
	if want := "/usr/local/go/bin:/opt/tools/bin:" + usualPath; got != want {
		t.Errorf("%s", got)
	}
}

func TestOnlyTheSandboxlessTierWarns(t *testing.T) {
	if w := openBox(t, TierNone).Warning(); !strings.Contains(w, "NO SANDBOX") {
		t.Errorf("%q", w)
	}
	if w := openBox(t, TierBubblewrap).Warning(); w != "" {
		t.Errorf("%q", w)
	}
}

func TestATierThatIsNotThereFails(t *testing.T) {
	if _, err := Open(t.Context(), Options{Tier: "jail"}); chat.CodeOf(err) != chat.CodeInvalid {
		t.Error(err)
	}
	if _, err := Open(t.Context(), Options{Tier: TierGVisor}); chat.CodeOf(err) != chat.CodeUnavailable {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err := Open(t.Context(), Options{Tier: TierBubblewrap})
	if chat.CodeOf(err) != chat.CodeUnavailable || !strings.Contains(err.Error(), "install the package bubblewrap") {
		t.Error(err)
	}
}

// TestASandboxThatDoesNotHoldDoesNotOpen lets bubblewrap be a program that leaves one thing out.
func TestASandboxThatDoesNotHoldDoesNotOpen(t *testing.T) {
	b := openBox(t, TierBubblewrap)
	for name, weaken := range map[string]func(*plan){
		"the network is reachable": func(p *plan) { p.isolation = without(p.isolation, "--unshare-net") },
		"processes are visible":    func(p *plan) { p.isolation = without(without(p.isolation, "--unshare-pid"), "--as-pid-1") },
		"programs run as root":     func(p *plan) { p.isolation = swap(p.isolation, insideUser, "0") },
		"unix sockets can be made": func(p *plan) { p.spec.Families = []uint64{unix.AF_UNIX} },
		"/ can be written":         func(p *plan) { p.seal = nil },
		"/sys is visible":          func(p *plan) { p.system = append(p.system, "--ro-bind", "/sys", "/sys") },
	} {
		b.weaken = weaken
		if err := b.test(t.Context()); chat.CodeOf(err) != chat.CodeUnavailable || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := firstProcesses(); len(left) > 0 {
		t.Errorf("sandboxes are left: %v", left)
	}
	if files, err := os.ReadDir("/proc/self/fd"); err != nil || len(files) > 40 {
		t.Errorf("%d files are open, %v", len(files), err)
	}
}
