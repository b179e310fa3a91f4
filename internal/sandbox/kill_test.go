//go:build services && linux

package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	cancels = flag.Int("cancels", 40, "how many runs are cancelled")
	kills   = flag.Int("kills", 8, "how many times our own process is killed")
	seed    = flag.Uint64("seed", 0, "of the moments at which that happens; drawn when 0")
)

// stubborn leaves processes behind in every way a shell knows, says so, and does not end.
const stubborn = `
trap '' TERM INT HUP
nohup sleep 1000 >/dev/null 2>&1 &
setsid sleep 1000 >/dev/null 2>&1 &
(setsid sh -c 'sleep 1000 & exec sleep 1000' >/dev/null 2>&1 &)
sh -c 'trap "" TERM; while :; do sleep 1000; done' &
echo ready
while :; do sleep 1000; done`

var marks atomic.Int64

// newMark is a mark that no process carries: of two that begin in one moment too, each has its own.
func newMark() string {
	return fmt.Sprintf("RETINUE_TAG=%d-%d-%d.", os.Getpid(), time.Now().UnixNano(), marks.Add(1))
}

// tagged lists the processes of the machine that carry a mark in their environment, and the first
// processes of sandboxes, whose environment nobody can read.
func tagged(mark string) []string {
	var found []string
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return []string{err.Error()}
	}
	for _, p := range processes {
		environment, err := os.ReadFile(p + "/environ")
		if err == nil && bytes.Contains(environment, []byte(mark)) {
			line, _ := os.ReadFile(p + "/cmdline")
			found = append(found, filepath.Base(p)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// firstProcesses lists the processes that make up sandboxes, without those of other programs that
// run at the same time.
func firstProcesses() []string {
	var found []string
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return []string{err.Error()}
	}
	for _, p := range processes {
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil && isSandbox(pid) && isOurs(pid) {
			found = append(found, filepath.Base(p))
		}
	}
	return found
}

func isSandbox(pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.Contains(line, []byte("\x00"+InitCommand+"\x00"))
}

// isOurs reports whether a sandbox is below this test, or below the process that adopts the orphans
// of this test: the first process, or another above this one. A sandbox below another program
// belongs to that, and one that has ended meanwhile to none.
func isOurs(pid int) bool {
	above := pid
	for isSandbox(above) {
		above = parentOf(above)
	}
	if above == pid || above == 0 {
		return false
	}
	for own := os.Getpid(); own > 0; own = parentOf(own) {
		if own == above {
			return true
		}
	}
	return above == 1
}

func moments(t *testing.T) *rand.Rand {
	t.Helper()
	drawn := measure.Seed(t, *seed)
	return rand.New(rand.NewPCG(drawn, drawn))
}

func TestACancelLeavesNothing(t *testing.T) {
	b, chance := openBox(t, TierBubblewrap), moments(t)
	type end struct {
		took time.Duration
		err  error
	}
	const workers = 4
	jobs, ends := make(chan time.Duration), make(chan end)
	var wait sync.WaitGroup
	for range workers {
		work := tempDir(t)
		wait.Go(func() {
			for after := range jobs {
				took, err := cancelOne(t.Context(), b, work, after)
				ends <- end{took, err}
			}
		})
	}
	go func() {
		for range *cancels {
			// Some while the sandbox is still being built, most when the shell has done its worst.
			jobs <- time.Duration(chance.Int64N(int64(250 * time.Millisecond)))
		}
		close(jobs)
		wait.Wait()
		close(ends)
	}()
	var times []time.Duration
	for e := range ends {
		if e.err != nil {
			t.Error(e.err)
		}
		times = append(times, e.took)
	}
	slices.Sort(times)
	p99 := times[len(times)*99/100]
	t.Logf("%d cancels: p50 %v, p99 %v, longest %v", len(times), times[len(times)/2], p99, times[len(times)-1])
	measure.Most(t, "escape: a cancelled program is gone, p99", p99, 2*time.Second)
	if left := firstProcesses(); len(left) > 0 {
		t.Errorf("sandboxes are left: %v", left)
	}
}

func TestACancelBeforeTheBeginningIsAnOutcome(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tier := range []Tier{TierBubblewrap, TierNone} {
		outcome, err := openBox(t, tier).Run(ctx, Command{Argv: shell("echo begun"), Workspace: tempDir(t)})
		if err != nil || outcome.Ending != EndCancelled || outcome.Stdout.String() != "" {
			t.Errorf("%s: %+v, %v", tier, outcome, err)
		}
	}
}

func cancelOne(ctx context.Context, b *Box, work string, after time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	mark := newMark()
	begin := time.Now()
	time.AfterFunc(after, cancel)
	outcome, err := b.Run(ctx, Command{Argv: shell(stubborn), Workspace: work, Env: []string{mark}})
	took := time.Since(begin) - after
	if err != nil {
		return took, fmt.Errorf("after %v: %w", after, err)
	}
	if outcome.Ending != EndCancelled {
		return took, fmt.Errorf("after %v it ended by %s: %s", after, outcome.Ending, outcome.Stderr)
	}
	if left := tagged(mark); len(left) > 0 {
		return took, fmt.Errorf("after %v there are survivors: %v", after, left)
	}
	return took, nil
}

// holder is our own process in the test below: it runs stubborn shells until it is killed.
func holder(args []string) error {
	b, err := Open(context.Background(), Options{Tier: TierBubblewrap})
	if err != nil {
		return err
	}
	fmt.Println("open")
	for {
		p, err := b.Start(context.Background(), Command{Argv: shell(stubborn), Workspace: args[0], Env: []string{args[1]}})
		if err != nil {
			return err
		}
		if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
			return err
		}
	}
}

func TestOurOwnDeathLeavesNothing(t *testing.T) {
	chance := moments(t)
	work := tempDir(t)
	var longest time.Duration
	for i := range *kills {
		mark := newMark()
		killHolder(t, work, mark, time.Duration(chance.Int64N(int64(300*time.Millisecond))))
		begin := time.Now()
		var left []string
		for {
			left = append(tagged(mark), firstProcesses()...)
			if len(left) == 0 || time.Since(begin) > 30*time.Second {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		longest = max(longest, time.Since(begin))
		if len(left) > 0 {
			t.Fatalf("kill %d: survivors: %v", i, left)
		}
	}
	measure.Most(t, fmt.Sprintf("escape: %d kills of our own process, everything gone", *kills), longest, time.Second)
	// The next run takes away what the killed ones could not.
	b := openBox(t, TierBubblewrap)
	if _, err := b.Run(t.Context(), Command{Argv: shell("true"), Workspace: work}); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("in the workspace are %v, %v", left, err)
	}
}

// killHolder starts our own process, lets it get going and kills it some time after.
func killHolder(t *testing.T, work, mark string, after time.Duration) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, "holder", work, mark)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// TestSurvivorsAreSeen is the control of the two tests above: without a sandbox the same shell gets
// away.
func TestSurvivorsAreSeen(t *testing.T) {
	b := openBox(t, TierNone)
	mark := newMark()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := b.Start(ctx, Command{Argv: shell(stubborn), Workspace: tempDir(t), Env: []string{mark}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	awaitLeaver(t, mark)
	cancel()
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	left := tagged(mark)
	if len(left) == 0 {
		t.Error("nothing survived: the scan sees nothing, or the shell leaves nothing")
	}
	for _, line := range left {
		number, _, _ := strings.Cut(line, " ")
		if pid, err := strconv.Atoi(number); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// awaitLeaver waits until one of the marked processes has left the group, which takes those in the
// background a while.
func awaitLeaver(t *testing.T, mark string) {
	t.Helper()
	groupsOf := func() int {
		groups := map[int]bool{}
		for _, line := range tagged(mark) {
			number, _, _ := strings.Cut(line, " ")
			if pid, err := strconv.Atoi(number); err == nil {
				if group, err := syscall.Getpgid(pid); err == nil {
					groups[group] = true
				}
			}
		}
		return len(groups)
	}
	for end := time.Now().Add(time.Minute); groupsOf() < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody leaves the group")
		}
	}
}

// TestASandboxThatIsBuiltSlowly cancels a run long before bubblewrap has begun: it is not killed
// halfway, and all goes when it has got there.
func TestASandboxThatIsBuiltSlowly(t *testing.T) {
	b := openBox(t, TierBubblewrap)
	dir := tempDir(t)
	begun, slow := filepath.Join(dir, "begun"), filepath.Join(dir, "bwrap")
	script := fmt.Sprintf("#!/bin/sh\nsleep 2.5\n: > '%s'\nexec '%s' \"$@\"\n", begun, b.program)
	if err := os.WriteFile(slow, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b.program = slow
	mark := newMark()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	outcome, err := b.Run(ctx, Command{Argv: shell(stubborn), Workspace: tempDir(t), Env: []string{mark}})
	if err != nil || outcome.Ending != EndCancelled {
		t.Errorf("it ended as %v, %v", outcome, err)
	}
	if _, err := os.Stat(begun); err != nil {
		t.Errorf("bubblewrap was killed before it had begun: %v", err)
	}
	if left := append(tagged(mark), firstProcesses()...); len(left) > 0 {
		t.Errorf("survivors: %v", left)
	}
}
