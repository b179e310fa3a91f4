package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/progress"
)

const (
	// redrawEvery is how often the screen is drawn anew, so that the clocks on it go on.
	redrawEvery = 120 * time.Millisecond
	// hintAfter is how long nothing may happen before a reason is offered.
	hintAfter = 10 * time.Second
	// stopPatience is how long agents that were told to stop are waited for.
	stopPatience = 30 * time.Second
	// partingPatience is how long a person who leaves at once waits to be sure that the agents were
	// told.
	partingPatience = 2 * time.Second
	// overdue is how much longer than its timeout a run is waited for; the agents themselves stop at
	// the timeout.
	overdue = 30 * time.Second
)

// runLoop is one message on its way to its answer.
type runLoop struct {
	site         *site
	flags        *runFlags
	began        time.Time
	conversation string
	message      string
	signals      <-chan os.Signal
	in           io.Reader
	out, err     io.Writer

	tree *progress.Tree
	view view
	// lines is what is typed, nil when nobody is there.
	lines <-chan string
	asked *progress.Pending
	known map[string]bool
	// declined counts what this process declined because nobody is there.
	declined int
	stopping time.Time
	// told brings what came of telling the agents to stop, and stopped means that they know.
	told    <-chan error
	stopped bool
	hinted  bool
	warned  string
}

// run says the prompt and waits for the end of the turn.
func (e *runLoop) run(ctx context.Context, prompt string) (ending, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	after, err := e.begin(ctx, prompt)
	if err != nil {
		return ending{}, err
	}
	e.message, err = e.site.server.say(ctx, e.conversation, rand.Text(), prompt)
	if err != nil {
		return ending{}, err
	}
	e.tree = progress.New(e.conversation, e.message)
	e.known = map[string]bool{}
	e.view = e.newView()
	if !e.flags.headless {
		e.lines = readLines(e.in)
	}
	end, err := e.follow(ctx, e.site.server.follow(ctx, e.conversation, after))
	if err != nil {
		return end, err
	}
	return end, e.show(end)
}

// begin opens the conversation, or finds the one to go on with, and says after which entry the news
// begins.
func (e *runLoop) begin(ctx context.Context, prompt string) (int64, error) {
	if e.conversation == "" {
		opened, err := e.site.server.Create(ctx, e.flags.talk(e.site, prompt))
		e.conversation = opened.ID
		return 0, e.site.server.explain(err)
	}
	found, err := e.site.server.Conversation(ctx, e.conversation)
	if client.IsNotFound(err) {
		return 0, fmt.Errorf("continue %s: there is no such conversation: check its id, it may have been deleted", e.conversation)
	}
	if err != nil {
		return 0, fmt.Errorf("continue %s: %w", e.conversation, e.site.server.explain(err))
	}
	info := found.Conversation
	// A person who names a server need not know where its conversations work.
	if info.Workspace != e.site.workspace && (e.flags.address == "" || e.site.workspace != "") {
		return 0, misused("conversation %s works in %q: add --workspace %s", e.conversation, info.Workspace, info.Workspace)
	}
	return info.Seq, nil
}

// follow waits for the end, shows what happens until then, and passes on what the person wants.
func (e *runLoop) follow(ctx context.Context, updates <-chan progress.Update) (ending, error) {
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				return ending{}, e.cutOff()
			}
			e.news(u)
			e.attend(ctx)
		case <-e.signals:
			if !e.stopping.IsZero() {
				return e.leave(e.parting()), nil
			}
			e.stop(ctx)
		case err := <-e.told:
			e.heard(err)
		case line, ok := <-e.lines:
			if !ok {
				e.lines = nil
				continue
			}
			e.typed(ctx, line)
		case <-ticker.C:
			e.hint()
			if e.asked == nil {
				e.view.draw(time.Now())
			}
		}
		now := time.Now()
		if end, over := e.tree.Ended(now); over {
			return e.ended(end), nil
		}
		if !e.stopping.IsZero() && now.Sub(e.stopping) > stopPatience {
			return e.leave("left: nobody confirms that the agents have stopped"), nil
		}
		if limit := e.flags.timeout; limit > 0 && e.flags.headless && e.stopping.IsZero() && now.Sub(e.began) > limit+overdue {
			e.stop(ctx)
		}
	}
}

func (e *runLoop) news(u progress.Update) {
	if u.Err != nil && u.Err.Error() != e.warned {
		e.warned = u.Err.Error()
		e.view.note(e.trouble())
	}
	for _, happened := range u.Events {
		for _, event := range e.tree.Apply(happened) {
			e.view.event(event)
		}
	}
	if u.Draft != "" {
		e.view.draft(u.Draft)
	}
}

// trouble says that no news comes, and what can be done.
func (e *runLoop) trouble() string {
	if e.site.server.address == "" {
		return "the journal cannot be read just now, trying again: " + e.warned
	}
	text := "the server cannot be reached just now, trying again: " + e.warned
	if e.flags.address == "" {
		text += "\nwhat is recorded stays: start 'retinue up" + demoFlag(e.flags.demo) + "' again and it goes on, or leave with Ctrl-C"
	}
	return text
}

// cutOff is why nothing more will come.
func (e *runLoop) cutOff() error {
	return fmt.Errorf("conversation %s can no longer be followed: %s", e.conversation, e.warned)
}

// stop cancels everything that is under way. It does not wait until that has arrived, so that a
// second Ctrl-C is heard.
func (e *runLoop) stop(ctx context.Context) {
	e.stopping = time.Now()
	e.asked = nil
	e.view.note("stopping all agents; Ctrl-C again to leave at once")
	told := make(chan error, 1)
	e.told = told
	go func() {
		_, err := e.site.server.Cancel(ctx, e.conversation, "")
		told <- e.site.server.explain(err)
	}()
}

// heard takes what came of telling the agents to stop.
func (e *runLoop) heard(err error) {
	e.stopped = err == nil
	if err != nil {
		e.view.note("the agents could not be told: " + err.Error())
	}
}

// parting is what is said when the agents are not waited for.
func (e *runLoop) parting() string {
	if !e.stopped {
		select {
		case err := <-e.told:
			e.heard(err)
		case <-time.After(partingPatience):
		}
	}
	if e.stopped {
		return "left at once: the agents were told to stop, and do so by themselves"
	}
	return "left at once: nobody confirms that the agents were told to stop; they may go on"
}

// hint offers a reason when nothing happens.
func (e *runLoop) hint() {
	if e.hinted || e.tree.Stirred() || time.Since(e.began) < hintAfter {
		return
	}
	e.hinted = true
	switch {
	case e.site.server.address != "":
		e.view.note("nothing has happened yet: the server at " + e.site.server.address + " may be busy, or have no worker for workspace " +
			orNone(e.site.workspace))
	case e.site.Works:
		e.view.note("nothing has happened yet: the engine at " + e.site.Address + " may be busy or out of reach")
	case e.site.workspace == "":
		e.view.note("nothing has happened yet: is a worker running? Start 'retinue worker', or add --worker")
	default:
		e.view.note("nothing has happened yet: is a worker running for workspace " + e.site.workspace +
			"? Start 'retinue worker --workspace NAME=DIR', or add --worker")
	}
}

// readLines sends what is typed until the end of the input.
func readLines(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	return lines
}
