package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// inboxCommand lists what waits for a person, and decides it.
func inboxCommand(start local.EngineStarter) *cobra.Command {
	flags := &siteFlags{}
	box := inbox{flags: flags, start: start}
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List what needs you, and decide it",
		Long: "List the questions and approvals that wait for a person, in all conversations. Decide one by its\n" +
			"id, or by the beginning of it. A decision is recorded at once; agents continue as soon as a\n" +
			"process runs them: 'retinue up', 'retinue run' or 'retinue worker'.\n\n" +
			"It asks the server that --server names, else the one that runs on the data folder ('retinue up').\n" +
			"Without a server it reads the journal in the data folder, or the one that journal.dsn names.",
		Example: "  retinue inbox\n  retinue inbox allow 3f9a\n  retinue inbox allow 3f9a --scope conversation\n" +
			"  retinue inbox deny 3f9a\n  retinue inbox answer 81c0 \"The one from 2019.\"",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return box.with(cmd, func(s *site) error { return box.list(cmd, s) })
		},
	}
	cmd.Flags().BoolVar(&box.asJSON, "json", false, "print a line of JSON for each")
	allow := box.deciding("allow ID", "Let a call that waits be carried out", 1, func(cmd *cobra.Command, s *site, item remote.Waiting, _ []string) error {
		return box.allow(cmd, s, item)
	})
	allow.Flags().StringVar(&box.scope, "scope", "once",
		"once: this call; task: this call and those of its agent that fit the pattern shown;\nconversation: all such calls in its conversation")
	deny := box.deciding("deny ID", "Refuse a call, or decline a question", 1, func(cmd *cobra.Command, s *site, item remote.Waiting, _ []string) error {
		if item.Question != "" {
			return s.server.Decline(cmd.Context(), item.Conversation, item.Question)
		}
		return s.server.Settle(cmd.Context(), item.Conversation, item.Pending, wire.Decision{})
	})
	answer := box.deciding("answer ID TEXT", "Answer a question", 2, func(cmd *cobra.Command, s *site, item remote.Waiting, args []string) error {
		if item.Question == "" {
			return exit.Misused("%s is no question: use 'retinue inbox allow' or 'deny'", item.ID)
		}
		return s.server.Answer(cmd.Context(), item.Conversation, item.Question, remote.Chosen(item.Pending, args[0]))
	})
	flags.Add(cmd)
	flags.addServer(cmd)
	cmd.PersistentFlags().BoolVar(&flags.demo, "demo", false, "the inbox of 'retinue up --demo'")
	cmd.AddCommand(allow, deny, answer)
	return cmd
}

// inbox is what the commands share.
type inbox struct {
	flags  *siteFlags
	start  local.EngineStarter
	asJSON bool
	scope  string
}

// with opens the place where things wait. Nobody is carried on there.
func (b *inbox) with(cmd *cobra.Command, do func(*site) error) error {
	if b.flags.demo && b.flags.address != "" {
		return exit.Misused("--demo is on this machine: leave it out with --server")
	}
	s, err := b.flags.open(cmd.Context(), cmd, want{start: b.start, work: local.WorkNever, quiet: silent, named: true, client: true, served: true})
	if err != nil {
		return err
	}
	err = do(s)
	if closing := s.close(cmd.Context()); err == nil {
		err = closing
	}
	return err
}

// deciding is a command about one thing that waits.
func (b *inbox) deciding(
	use, short string, args int, do func(*cobra.Command, *site, remote.Waiting, []string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(args),
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.with(cmd, func(s *site) error {
				items, err := s.server.Waits(cmd.Context())
				if err != nil {
					return err
				}
				item, err := remote.Find(items, args[0])
				if err != nil {
					return err
				}
				if err := do(cmd, s, item, args[1:]); err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "recorded for %s in conversation %s\n", item.Agent, item.Conversation)
				return err
			})
		},
	}
}

func (b *inbox) allow(cmd *cobra.Command, s *site, item remote.Waiting) error {
	if item.Question != "" {
		return exit.Misused("%s is a question: use 'retinue inbox answer'", item.ID)
	}
	switch b.scope {
	case remote.ScopeOnce, remote.ScopeTask, remote.ScopeConversation:
	default:
		return exit.Misused("there is no scope %q: once, task or conversation", b.scope)
	}
	if b.scope != remote.ScopeOnce && item.Pattern == "" {
		return exit.Misused("each call like this must be looked at: it can be allowed once only")
	}
	return s.server.Settle(cmd.Context(), item.Conversation, item.Pending, wire.Decision{Allow: true, Scope: b.scope})
}

// list prints what waits.
func (b *inbox) list(cmd *cobra.Command, s *site) error {
	items, err := s.server.Waits(cmd.Context())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if b.asJSON {
		return listJSON(out, items)
	}
	if len(items) == 0 {
		_, err := fmt.Fprintln(out, "Nothing needs you.")
		return err
	}
	for i, item := range items {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprint(out, describe(item, time.Now()))
	}
	return nil
}

// describe is an item as people read it.
func describe(item remote.Waiting, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s (%s), conversation %s, %s ago", item.ID, item.Role, item.Agent, item.Conversation, output.Seconds(now.Sub(item.At)))
	if !item.Until.IsZero() {
		fmt.Fprintf(&b, ", expires in %s", output.Seconds(item.Until.Sub(now)))
	}
	b.WriteByte('\n')
	if item.Question != "" {
		fmt.Fprintf(&b, "  asks: %s\n", progress.Short(item.Text, 2000))
		for i, option := range item.Options {
			fmt.Fprintf(&b, "    %d  %s\n", i+1, progress.Short(option, 200))
		}
		return b.String()
	}
	fmt.Fprintf(&b, "  wants to call %s %s\n", item.Tool, remote.Shown(item.Pending))
	if why := progress.Because(item.Sources); why != "" {
		fmt.Fprintf(&b, "  %s\n", why)
	}
	if item.Pattern != "" {
		fmt.Fprintf(&b, "  \"always\" would cover: %s(%s)\n", item.Tool, progress.Short(item.Pattern, 500))
	}
	return b.String()
}

// listJSON writes a line for each item.
func listJSON(out io.Writer, items []remote.Waiting) error {
	enc := json.NewEncoder(out)
	for _, item := range items {
		line := map[string]any{
			"id": item.ID, "conversation": item.Conversation, "agent": item.Agent, "role": item.Role, "at": item.At,
		}
		if !item.Until.IsZero() {
			line["until"] = item.Until
		}
		if item.Question != "" {
			line["question"], line["options"] = item.Text, item.Options
		} else {
			line["tool"], line["args"], line["pattern"] = item.Tool, json.RawMessage(item.Text), item.Pattern
			if len(item.Sources) > 0 {
				line["sources"] = item.Sources
			}
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
