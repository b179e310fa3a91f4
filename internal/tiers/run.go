package tiers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// measureVariable makes internal/measure check figures against their bounds.
const measureVariable = "TEST_RETINUE_MEASURE"

// endTime is how long suites may take to end after they were told to.
const endTime = 10 * time.Second

// Runner runs suites, each as a make of its own.
type Runner struct {
	Root      string // the checkout
	Tier      Tier
	Jobs      int                // how many suites run at a time; builds run alone
	KeepGoing bool               // whether the suites after a failure run
	Out       io.Writer          // what people read
	Ended     func(Result) error // is told of each suite that ended, one at a time; may be nil
}

// Result is what came of one suite.
type Result struct {
	Suite   string
	Took    time.Duration // by the clock on the wall
	CPU     time.Duration // of all its processes
	Failed  bool
	Figures []string // what its output says it showed, or which tests failed
	log     string
}

// Run runs the suites and returns their results in the order in which they ended. The error says
// that a suite could not be run or that the context ended; a suite that failed is in its result.
// After a build that failed nothing else runs: the suites need it.
func (r *Runner) Run(ctx context.Context, suites Table) ([]Result, error) {
	run := &running{Runner: r}
	for _, s := range suites {
		if s.Build && !run.stopped() {
			run.suite(ctx, s)
		}
	}
	if run.failed {
		return run.results, errors.Join(run.err, ctx.Err())
	}
	slots := make(chan struct{}, max(r.Jobs, 1))
	var group sync.WaitGroup
	for _, s := range suites {
		if s.Build {
			continue
		}
		slots <- struct{}{}
		if run.stopped() || ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			run.suite(ctx, s)
		})
	}
	group.Wait()
	return run.results, errors.Join(run.err, ctx.Err())
}

// running is a run under way.
type running struct {
	*Runner
	mu      sync.Mutex
	results []Result
	failed  bool
	err     error
}

func (r *running) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil || r.failed && !r.KeepGoing
}

func (r *running) suite(ctx context.Context, s Suite) {
	result, err := r.carryOut(ctx, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return // it was interrupted, which says nothing about it
	}
	if err == nil && r.Ended != nil {
		err = r.Ended(result)
	}
	r.err = errors.Join(r.err, err)
	r.failed = r.failed || result.Failed
	r.results = append(r.results, result)
	r.tell(result)
}

// carryOut runs one suite with its output in a file.
func (r *Runner) carryOut(ctx context.Context, s Suite) (Result, error) {
	result := Result{Suite: s.Name}
	folder := filepath.Join(r.Root, "bin", "logs", string(r.Tier))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return result, fmt.Errorf("make folder for logs: %w", err)
	}
	result.log = filepath.Join(folder, strings.ReplaceAll(s.Name, "/", "-")+".log")
	out, err := os.Create(result.log)
	if err != nil {
		return result, fmt.Errorf("make log: %w", err)
	}
	defer out.Close() //nolint:errcheck // make has written to it, and reading it shows what

	cmd := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory"}, s.command(r.Tier)...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.Root, environment(os.Environ(), r.Tier), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	began := time.Now()
	err = cmd.Run()
	result.Took = time.Since(began)
	if cmd.ProcessState == nil {
		return result, fmt.Errorf("start make %s: %w", s.Name, err)
	}
	result.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	result.Failed = err != nil
	text, err := os.ReadFile(result.log)
	if err != nil {
		return result, fmt.Errorf("read log: %w", err)
	}
	result.Figures = figures(s.Name, string(text), result.Failed)
	return result, nil
}

// notForSuites are the variables of the make that runs a tier. Make puts those of its command line
// into the environment too.
var notForSuites = []string{
	"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "ONLY", "FROM", "CHANGED", "LIST", measureVariable,
}

// environment is what a suite's make sees: nothing of the make that runs it, and whether it
// measures.
func environment(from []string, tier Tier) []string {
	env := slices.DeleteFunc(slices.Clone(from), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(notForSuites, name)
	})
	if tier == Prove {
		env = append(env, measureVariable+"=1")
	}
	return env
}
