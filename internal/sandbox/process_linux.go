package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// killGrace is how long a program that was killed may take to end before it is killed again, and a
	// stream to end behind its program.
	killGrace = time.Second
	// buildGrace is how long a sandbox that is still being built may take to notice that it is no
	// longer wanted: on a busy machine seconds.
	buildGrace = 15 * time.Second
	// goneGrace is how long killed processes may take to end: on a busy machine seconds, if they
	// are many.
	goneGrace = 5 * time.Second
)

// Process is a program that runs, started by Box.Start.
type Process struct {
	Stdin  io.WriteCloser // nothing more can be written once the process has ended
	Stdout io.ReadCloser

	stderr  *capture
	done    chan struct{}
	outcome Outcome
	err     error
}

// launch is a program about to run, in one tier.
type launch interface {
	command() *exec.Cmd
	// started is called once it runs.
	started()
	// kill ends the program and all that it started. It is called until the program has ended.
	kill()
	// memory is how much all of it uses.
	memory() uint64
	// finish is called once the command is gone. It waits for the rest, says how the program ended,
	// and puts the workspace back.
	finish(state *os.ProcessState) (report, error)
	// abandon is called instead of all others when it could not be started.
	abandon() error
}

// Run runs a program to its end. The error says why it could not be run or watched; a program that
// fails, is stopped or is cancelled, be it before it began, is an outcome.
func (b *Box) Run(ctx context.Context, c Command) (Outcome, error) {
	p, err := b.Start(ctx, c)
	switch {
	case errors.Is(err, errUnwanted):
		return Outcome{Ending: EndCancelled}, nil
	case err != nil:
		return Outcome{}, err
	}
	go func() {
		if c.Stdin != nil {
			_, _ = io.Copy(p.Stdin, c.Stdin) // the program may leave input unread
		}
		_ = p.Stdin.Close()
	}()
	stdout, drained := newCapture(c.Limits.withDefaults().Output), make(chan struct{})
	go func() {
		drain(stdout, p.Stdout)
		close(drained)
	}()
	outcome, err := p.Wait()
	awaitStream(drained)
	_ = p.Stdout.Close()
	outcome.Stdout = stdout.output()
	return outcome, err
}

// errUnwanted is why a program is not started when nobody waits for it any more.
var errUnwanted = errors.New("cancelled before it began")

// Start starts a program and leaves its standard input and output to the caller. The context ends
// it, at any time; its standard error is kept in the outcome. The caller calls Wait.
func (b *Box) Start(ctx context.Context, c Command) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnwanted, err)
	}
	limits := c.Limits.withDefaults()
	l, err := b.launch(c, limits)
	if err != nil {
		return nil, err
	}
	p := &Process{stderr: newCapture(limits.Output), done: make(chan struct{})}
	started := make(chan error, 1)
	pipes, err := p.connect(l.command(), c.Merge)
	if err != nil {
		return nil, errors.Join(err, l.abandon())
	}
	go p.attend(ctx, l, limits, pipes, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (b *Box) launch(c Command, l Limits) (launch, error) {
	if b.options.Tier == TierNone {
		return b.launchBare(c)
	}
	return b.launchConfined(c, l)
}

// Wait waits for the end of the process and of everything it started. It may be called more than
// once.
func (p *Process) Wait() (Outcome, error) {
	<-p.done
	return p.outcome, p.err
}

// pipes are the ends of the streams that the program gets, and the one of its standard error that
// we read.
type pipes struct {
	theirs []*os.File
	stderr *os.File
}

func (p *Process) connect(cmd *exec.Cmd, merge bool) (pipes, error) {
	var all []*os.File
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil
		}
		all = append(all, r, w)
		return r, w
	}
	inRead, inWrite := pipe()
	outRead, outWrite := pipe()
	errRead, errWrite := pipe()
	if inRead == nil || outRead == nil || errRead == nil {
		for _, f := range all {
			_ = f.Close()
		}
		return pipes{}, errors.New("make the program's pipes: too many open files")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, errWrite
	if merge {
		cmd.Stderr = outWrite
	}
	p.Stdin, p.Stdout = inWrite, outRead
	return pipes{theirs: []*os.File{inRead, outWrite, errWrite}, stderr: errRead}, nil
}

// attend starts the command and waits for it on one thread: the kernel ends a child that asked for
// it when the thread that started it ends, not when the process does.
func (p *Process) attend(ctx context.Context, l launch, limits Limits, streams pipes, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := time.Now()
	err := l.command().Start()
	for _, f := range streams.theirs {
		_ = f.Close()
	}
	if err != nil {
		_ = streams.stderr.Close()
		started <- errors.Join(fmt.Errorf("start the sandbox: %w", err), l.abandon())
		return
	}
	reading := make(chan struct{})
	go func() {
		drain(p.stderr, streams.stderr)
		close(reading)
	}()
	over := make(chan struct{})
	verdict := make(chan Outcome, 1)
	go func() { verdict <- p.watch(ctx, l, limits, over) }()
	l.started()
	started <- nil
	_ = l.command().Wait() // how it ended is in its state; its streams are ours
	ended, err := l.finish(l.command().ProcessState)
	close(over)
	p.outcome = <-verdict
	awaitStream(reading)
	_ = streams.stderr.Close()
	p.err = p.judge(ended, err)
	p.outcome.Duration, p.outcome.Stderr = time.Since(begin), p.stderr.output()
	close(p.done)
	_ = p.Stdin.Close()
}

// awaitStream waits for the end of a stream, but not for ever: without a sandbox, what has left its
// process group may hold it open for as long as it likes.
func awaitStream(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(killGrace):
	}
}

// memoryPeriod is how often the memory of a sandbox is counted.
const memoryPeriod = 100 * time.Millisecond

// watch ends the program on request or at a limit, and returns the reason.
func (p *Process) watch(ctx context.Context, l launch, limits Limits, over <-chan struct{}) Outcome {
	wall := time.NewTimer(limits.Wall)
	defer wall.Stop()
	count := time.NewTicker(memoryPeriod)
	defer count.Stop()
	stop := func(o Outcome) Outcome {
		for {
			l.kill()
			select {
			case <-over:
				return o
			case <-time.After(killGrace):
			}
		}
	}
	for {
		select {
		case <-over:
			return Outcome{Ending: EndExited}
		case <-ctx.Done():
			return stop(Outcome{Ending: EndCancelled})
		case <-wall.C:
			return stop(Outcome{Ending: EndTimedOut})
		case <-count.C:
			if l.memory() > limits.Memory {
				return stop(Outcome{Ending: EndLimit, Limit: "memory"})
			}
		}
	}
}

// judge adds what the program said of its end to why we ended it.
func (p *Process) judge(r report, err error) error {
	o := &p.outcome
	o.Code, o.Replaced, o.Linked, o.Planted = -1, r.replaced, r.linked, r.planted
	switch {
	case err != nil || o.Ending != EndExited:
		return err
	case r.Missing:
		return &chat.Error{Code: chat.CodeNotFound, Message: "the sandbox cannot start the program: " + r.Problem}
	case r.Problem != "":
		return &chat.Error{Code: chat.CodeInvalid, Message: "the sandbox cannot start the program: " + r.Problem}
	case !r.Ended && r.Ready:
		o.Ending, o.Limit = EndLimit, "the sandbox's own process was ended from inside or by a limit on processes or memory"
		return nil
	case !r.Ended:
		return fmt.Errorf("the sandbox was not built: %s", p.stderr.output())
	}
	o.Code, o.Signal = r.Code, syscall.Signal(r.Signal)
	if o.Signal == syscall.SIGXFSZ {
		o.Ending, o.Limit = EndLimit, "size of a file"
	}
	return nil
}
