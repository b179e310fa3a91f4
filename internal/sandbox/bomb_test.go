//go:build services && linux

package sandbox

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

// maxOwn is how much of our own memory any one program may cost us.
const maxOwn = 64 * mebibyte

var bombs = []struct {
	name   string
	script string
	limits Limits
	stdin  io.Reader
	want   Ending
	check  func(Outcome) bool
}{
	{
		name: "processes", script: `bash -c ':(){ :|:& };:; sleep 100'`, limits: Limits{Processes: 64, Wall: 3 * time.Second},
		// The sandbox's own first process counts too: now and then it is the one that gets no thread, and
		// all ends sooner.
		check: func(o Outcome) bool { return o.Ending == EndTimedOut || o.Ending == EndLimit },
	},
	{name: "processes in loops", script: `while :; do sleep 100 & done`, limits: Limits{Processes: 64, Wall: 3 * time.Second}},
	{name: "memory of one", script: `$SELF attempt eat 1 1000`, limits: Limits{Memory: 256 * mebibyte}},
	// Each has less than one process may have: only who counts them all notices.
	{name: "memory of many", script: `$SELF attempt eat 4 100`, limits: Limits{Memory: 256 * mebibyte}, want: EndLimit},
	{
		name: "temporary files", script: `dd if=/dev/zero of=/tmp/x bs=1M count=1000; stat -c %s /tmp/x; rm -f /tmp/x`,
		limits: Limits{Tmp: 16 * mebibyte}, want: EndExited,
		check: func(o Outcome) bool { return strings.Contains(o.Stdout.String(), strconv.Itoa(16*mebibyte)) },
	},
	{
		name: "shared memory", script: `dd if=/dev/zero of=/dev/shm/x bs=1M count=1000; stat -c %s /dev/shm/x`,
		limits: Limits{Tmp: 16 * mebibyte}, want: EndExited,
		check: func(o Outcome) bool { return strings.Contains(o.Stdout.String(), strconv.Itoa(16*mebibyte)) },
	},
	{
		name: "a file of the workspace", script: `exec dd if=/dev/zero of=big bs=1M count=1000`,
		limits: Limits{FileSize: 8 * mebibyte}, want: EndLimit,
		check: func(o Outcome) bool { return o.Limit == "size of a file" },
	},
	{
		name: "endless output", script: `yes`, limits: Limits{Wall: 2 * time.Second}, want: EndTimedOut,
		check: func(o Outcome) bool { return o.Stdout.Cut > mebibyte },
	},
	{
		name: "endless output on both", script: `yes & yes >&2`, limits: Limits{Wall: 2 * time.Second, Output: 10 * mebibyte}, want: EndTimedOut,
		check: func(o Outcome) bool {
			return len(o.Stdout.Head)+len(o.Stdout.Tail)+len(o.Stderr.Head)+len(o.Stderr.Tail) == mebibyte
		},
	},
	{
		name: "a line of 157 MB", script: `head -c 157000000 /dev/zero | tr '\0' x`, want: EndExited,
		check: func(o Outcome) bool {
			return o.Stdout.Cut+int64(len(o.Stdout.Head)+len(o.Stdout.Tail)) == 157_000_000 && len(o.Stdout.Head) == 32<<10
		},
	},
	{name: "endless zeros", script: `cat /dev/zero`, limits: Limits{Wall: 2 * time.Second}, want: EndTimedOut},
	{name: "a pipe nobody writes", script: `mkfifo f && cat f`, limits: Limits{Wall: time.Second}, want: EndTimedOut},
	{name: "deaf sleep", script: `trap '' TERM INT HUP; sleep 100`, limits: Limits{Wall: time.Second}, want: EndTimedOut},
	{
		name: "daemons that hold the output", script: `nohup sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 &') & echo over`,
		want: EndExited, check: func(o Outcome) bool { return o.Stdout.String() == "over\n" },
	},
	{name: "input nobody reads", script: `sleep 100`, stdin: endless{}, limits: Limits{Wall: time.Second}, want: EndTimedOut},
	{name: "open files", script: `bash -c 'for i in $(seq 5000); do exec {f}</dev/null || exit 7; done'`, limits: Limits{OpenFiles: 64}, want: EndExited, check: func(o Outcome) bool { return o.Code != 0 }},
}

type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestBombsAreBounded(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	latest, most := time.Duration(0), int64(0)
	for _, bomb := range bombs {
		if bomb.limits.Wall == 0 {
			bomb.limits.Wall = 2 * time.Minute
		}
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // forget the peak so far
			t.Fatal(err)
		}
		before := peak(t)
		outcome, err := b.Run(t.Context(), Command{
			Argv: shell(bomb.script), Workspace: work, Env: []string{"SELF=" + initPath}, Stdin: bomb.stdin, Limits: bomb.limits,
		})
		if err != nil {
			t.Errorf("%s: %v", bomb.name, err)
			continue
		}
		grown := peak(t) - before
		t.Logf("%-30s %-9s %8v, our memory grew by %d KiB", bomb.name, outcome.Ending, outcome.Duration.Round(time.Millisecond), grown>>10)
		latest, most = max(latest, outcome.Duration-bomb.limits.Wall), max(most, grown)
		if bomb.want != "" && outcome.Ending != bomb.want || bomb.check != nil && !bomb.check(outcome) {
			outcome.Stdout.Head, outcome.Stdout.Tail = outcome.Stdout.Head[:min(200, len(outcome.Stdout.Head))], nil
			t.Errorf("%s: %+v, %s, %s", bomb.name, outcome, outcome.Stdout, outcome.Stderr)
		}
	}
	measure.Most(t, "escape: a bomb goes on past its time", latest, 2*time.Second)
	measure.Most(t, "escape: bytes of our memory that a bomb takes", most, maxOwn)
	if left := firstProcesses(); len(left) > 0 {
		t.Errorf("sandboxes are left: %v", left)
	}
}

// peak is the most memory this process has had since the peak was last forgotten.
func peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "VmHWM:" {
			kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no peak in /proc/self/status")
	return 0
}
