package run

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// The formats that an end is printed in.
const (
	// Text is the answer alone, for people.
	Text = "text"
	// JSON is one object at the end.
	JSON = "json"
	// Stream is an object on each line, as it happens.
	Stream = "stream-json"
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

// Loop is one message on its way to its answer.
type Loop struct {
	Server *remote.Server
	// Named is the address of a server that the person named, empty if none was.
	Named string
	// Workspace is where the agents work, empty if no folder is theirs.
	Workspace string
	// Engine is where the engine is if this process runs the agents, and empty if it does not.
	Engine string
	// Opening is the conversation to begin if Conversation, the one to go on with, is empty.
	Opening      wire.NewConversation
	Conversation string
	// Format is how the end is printed, Demo adds that it is a demo.
	Format string
	Demo   bool
	// Headless means that nobody is there; then a run is waited for a while longer than Timeout.
	Headless bool
	Timeout  time.Duration
	Began    time.Time
	// Signals stop the agents; a second one ends the wait for them.
	Signals  <-chan os.Signal
	In       io.Reader
	Out, Err io.Writer

	message string
	tree    *progress.Tree
	view    view
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

// Run says the prompt, shows what happens, prints the end and waits for the end of the turn.
func (e *Loop) Run(ctx context.Context, prompt string) (Ending, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	after, err := e.begin(ctx)
	if err != nil {
		return Ending{}, err
	}
	e.message, err = e.Server.Say(ctx, e.Conversation, rand.Text(), prompt)
	if err != nil {
		return Ending{}, err
	}
	e.tree = progress.New(e.Conversation, e.message)
	e.known = map[string]bool{}
	e.view = e.newView()
	if !e.Headless {
		e.lines = readLines(e.In)
	}
	end, err := e.follow(ctx, e.Server.News(ctx, e.Conversation, after))
	if err != nil {
		return end, err
	}
	return end, e.show(end)
}

// begin opens the conversation, or finds the one to go on with, and says after which entry the news
// begins.
func (e *Loop) begin(ctx context.Context) (int64, error) {
	if e.Conversation == "" {
		opened, err := e.Server.Create(ctx, e.Opening)
		e.Conversation = opened.ID
		return 0, e.Server.Explain(err)
	}
	found, err := e.Server.Conversation(ctx, e.Conversation)
	if client.IsNotFound(err) {
		return 0, fmt.Errorf("continue %s: %w", e.Conversation, &chat.Error{
			Code: chat.CodeNotFound, Message: "there is no such conversation: check its id, it may have been deleted",
		})
	}
	if err != nil {
		return 0, fmt.Errorf("continue %s: %w", e.Conversation, e.Server.Explain(err))
	}
	info := found.Conversation
	// A person who names a server need not know where its conversations work.
	if info.Workspace != e.Workspace && (e.Named == "" || e.Workspace != "") {
		return 0, exit.Misused("conversation %s works in %q: add --workspace %s", e.Conversation, info.Workspace, info.Workspace)
	}
	return info.Seq, nil
}

// follow waits for the end, shows what happens until then, and passes on what the person wants.
func (e *Loop) follow(ctx context.Context, updates <-chan progress.Update) (Ending, error) {
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				return Ending{}, e.cutOff()
			}
			e.news(u)
			e.attend(ctx)
		case <-e.Signals:
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
		if limit := e.Timeout; limit > 0 && e.Headless && e.stopping.IsZero() && now.Sub(e.Began) > limit+overdue {
			e.stop(ctx)
		}
	}
}

func (e *Loop) news(u progress.Update) {
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
func (e *Loop) trouble() string {
	if e.Server.Address == "" {
		return "the journal cannot be read just now, trying again: " + e.warned
	}
	text := "the server cannot be reached just now, trying again: " + e.warned
	if e.Named == "" {
		text += "\nwhat is recorded stays: start 'retinue up" + demoFlag(e.Demo) + "' again and it goes on, or leave with Ctrl-C"
	}
	return text
}

// cutOff is why nothing more will come.
func (e *Loop) cutOff() error {
	return fmt.Errorf("conversation %s can no longer be followed: %s", e.Conversation, e.warned)
}

// stop cancels everything that is under way. It does not wait until that has arrived, so that a
// second Ctrl-C is heard.
func (e *Loop) stop(ctx context.Context) {
	e.stopping = time.Now()
	e.asked = nil
	e.view.note("stopping all agents; Ctrl-C again to leave at once")
	told := make(chan error, 1)
	e.told = told
	go func() {
		_, err := e.Server.Cancel(ctx, e.Conversation, "")
		told <- e.Server.Explain(err)
	}()
}

// heard takes what came of telling the agents to stop.
func (e *Loop) heard(err error) {
	e.stopped = err == nil
	if err != nil {
		e.view.note("the agents could not be told: " + err.Error())
	}
}

// parting is what is said when the agents are not waited for.
func (e *Loop) parting() string {
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
func (e *Loop) hint() {
	if e.hinted || e.tree.Stirred() || time.Since(e.Began) < hintAfter {
		return
	}
	e.hinted = true
	switch {
	case e.Server.Address != "":
		e.view.note("nothing has happened yet: the server at " + e.Server.Address + " may be busy, or have no worker for workspace " +
			output.OrNone(e.Workspace))
	case e.Engine != "":
		e.view.note("nothing has happened yet: the engine at " + e.Engine + " may be busy or out of reach")
	case e.Workspace == "":
		e.view.note("nothing has happened yet: is a worker running? Start 'retinue worker', or add --worker")
	default:
		e.view.note("nothing has happened yet: is a worker running for workspace " + e.Workspace +
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
