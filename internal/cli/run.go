package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/cli/run"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/wire"
)

// runFlags are the flags of run.
type runFlags struct {
	siteFlags
	format    string
	role      string
	model     string
	cost      float64
	timeout   time.Duration
	goOn      string
	workspace string
	headless  bool
	worker    bool
}

const runLong = `Give agents one task and wait for the answer.

The main agent may hand parts of it to sub-agents, which work side by side. On a terminal each
agent has a line: what it is, what it was asked, how it stands and what it does. The answer goes to
the standard output, everything else to the error stream.

With a terminal, agents may ask you questions and for approvals. Without one, or with --headless,
nobody is there: questions are declined and calls that need an approval are denied.

Ctrl-C stops all agents and waits for them; a second Ctrl-C leaves at once.

Where it runs: on the server that --server names; else on the one that 'retinue up' runs on the same
data folder, if it works in the same workspace; else on the engine that the settings name
(engine.temporal_address), or that another retinue runs on the data folder, or, in the standalone
build, on one of its own. A server's own settings count there; --worker keeps away from it.

Exit codes: 0 done, 1 failed, 2 called wrongly, 3 a person was needed and not there, 4 a limit was
reached (time, cost, turns), 130 cancelled.`

// oneTask wants the task as one argument.
func oneTask(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("missing prompt: retinue run \"…\", or - to read it from stdin")
	case 1:
		return nil
	}
	return errors.New("what to do is one argument: put it in quotes")
}

func runCommand(start local.EngineStarter) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   `run "what to do" | -`,
		Short: "Give agents one task and wait for the answer",
		Long:  runLong,
		Example: "  retinue run --demo \"Compare apples, pears and plums\"\n" +
			"  retinue run --max-cost 0.50 --timeout 5m \"Find out why the login test is flaky\"\n" +
			"  git diff | retinue run --output-format json - | jq -r .result",
		Args: oneTask,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return f.check(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runTask(cmd, f, start, args[0]) },
	}
	f.AddSet(cmd)
	f.addDemo(cmd)
	f.addVerbose(cmd)
	f.addServer(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "output-format", run.Text, "text, json (one object at the end) or stream-json (one object per line as it happens)")
	flags.StringVar(&f.role, "role", "", "the role of the agent you talk to (default main)")
	flags.StringVar(&f.model, "model", "", "a tier or provider/model instead of the role's own")
	flags.Float64Var(&f.cost, "max-cost", 0, "the most that may be spent, in US dollars")
	flags.DurationVar(&f.timeout, "timeout", 0, "the most that it may take, such as 90s or 10m; waiting for you does not count")
	flags.StringVar(&f.workspace, "workspace", "",
		"the folder that agents work in (default: nearest folder with .retinue or .git);\non an engine elsewhere, the name that its workers know it by, or NAME=DIR")
	flags.StringVar(&f.goOn, "continue", "", "go on with this conversation")
	flags.BoolVar(&f.headless, "headless", false, "non-interactive: questions are declined, approvals denied (default when stdin is no terminal)")
	flags.BoolVar(&f.worker, "worker", false, "carry the agents on in this process (default when everything is on this machine)")
	return cmd
}

// check finds mistakes of the caller before anything is started.
func (f *runFlags) check(cmd *cobra.Command) error {
	switch f.format {
	case run.Text, run.JSON, run.Stream:
	default:
		return fmt.Errorf("--output-format %s: it is text, json or stream-json", f.format)
	}
	if f.cost < 0 || f.timeout < 0 {
		return errors.New("--max-cost and --timeout must not be negative")
	}
	if f.goOn != "" {
		for _, name := range []string{"role", "model", "max-cost", "timeout"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is settled when a conversation begins: leave it out with --continue", name)
			}
		}
	}
	if f.address != "" {
		for _, name := range []string{"demo", "worker"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for this machine: leave it out with --server", name)
			}
		}
	}
	if !cmd.Flags().Changed("headless") {
		f.headless = !output.IsTerminal(cmd.InOrStdin())
	}
	return nil
}

func runTask(cmd *cobra.Command, f *runFlags, start local.EngineStarter, prompt string) (err error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	began := time.Now()
	if prompt, err = promptOf(cmd, prompt); err != nil {
		return err
	}
	if f.demo {
		fmt.Fprintln(cmd.ErrOrStderr(), local.DemoLabel)
	}
	started := f.starting(cmd.ErrOrStderr())
	s, err := f.place(cmd, start)
	started()
	if err != nil {
		if cmd.Context().Err() != nil {
			return &exit.Error{Code: exit.Cancelled, Err: errors.New("cancelled before anything began")}
		}
		return err
	}
	if f.format == run.Text {
		s.warn(output.New(cmd.ErrOrStderr()), "")
	}
	ctx := context.WithoutCancel(cmd.Context())
	e := &run.Loop{
		Server: s.server, Named: f.address, Workspace: s.workspace, Opening: f.talk(s, prompt),
		Conversation: f.goOn, Format: f.format, Demo: f.demo, Headless: f.headless, Timeout: f.timeout, Began: began, Signals: signals,
		In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(),
	}
	if s.Site != nil && s.Works {
		e.Engine = s.Address
	}
	end, err := e.Run(ctx, prompt)
	if end.Left {
		return end.Exit() // a second Ctrl-C: nothing is waited for
	}
	err = errors.Join(err, s.close(ctx))
	if err != nil {
		return err
	}
	return end.Exit()
}

// starting says on a terminal why nothing is to be seen yet; the function it returns takes that
// back.
func (f *runFlags) starting(out io.Writer) func() {
	if f.format != run.Text || !output.IsTerminal(out) {
		return func() {}
	}
	fmt.Fprint(out, "starting…")
	return func() { fmt.Fprint(out, "\r\x1b[J") }
}

// place opens the site that the flags speak of.
func (f *runFlags) place(cmd *cobra.Command, start local.EngineStarter) (*site, error) {
	w := want{start: start, quiet: silent, client: true, served: true}
	if cmd.Flags().Changed("worker") {
		w.work, w.served = local.WorkNever, false
		if f.worker {
			w.work = local.WorkAlways
		}
	}
	name := ""
	if f.address != "" {
		name = f.workspace
	} else if f.workspace != "" {
		loaded, err := f.Load(cmd)
		if err != nil {
			return nil, err
		}
		if loaded.Settings.Journal.DSN.IsZero() || strings.Contains(f.workspace, "=") || w.work == local.WorkAlways {
			f.workspaces = []string{f.workspace}
		} else {
			name = f.workspace
		}
	}
	s, err := f.open(cmd.Context(), cmd, w)
	if err == nil && name != "" {
		s.workspace = name
	}
	return s, err
}

// talk is the conversation to be begun.
func (f *runFlags) talk(s *site, prompt string) wire.NewConversation {
	return wire.NewConversation{
		Title: remote.Title(prompt), Workspace: s.workspace, Role: f.role, Model: f.model, Headless: f.headless,
		MaxCost: int64(math.Round(f.cost * 1e6)), MaxDuration: f.timeout.Milliseconds(),
	}
}

// promptOf is what is said: the argument, or the standard input for "-".
func promptOf(cmd *cobra.Command, arg string) (string, error) {
	if arg == "-" {
		text, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return "", fmt.Errorf("read the standard input: %w", err)
		}
		arg = string(text)
	}
	if strings.TrimSpace(arg) == "" {
		return "", exit.Misused("there is nothing to do: write a task as the argument, or - to read it from the standard input")
	}
	if n := utf8.RuneCountInString(arg); n > wire.MaxText {
		return "", exit.Misused("the task has %d characters, at most %d can be sent: put the rest into a file of the workspace and name it", n, wire.MaxText)
	}
	return arg, nil
}

// userName is who talks: the account's name, if there is one.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user"
}
