package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/prompt"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// sample is the task that a prompt is shown for.
type sample struct {
	task, criteria string
	depth          int
}

func rolesShow(flags *settingsFlags) *cobra.Command {
	var asJSON bool
	var of sample
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a role as it is resolved, and the prompt it gets", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := flags.roles(cmd)
			if err != nil {
				return err
			}
			found, err := known.Role(args[0])
			if err != nil {
				return err
			}
			if found.Mode == role.ModePrimary && !cmd.Flags().Changed("depth") {
				of.depth = 0
			}
			system, warnings, err := known.prompt(found, of)
			if err != nil {
				return err
			}
			warn(cmd, warnings)
			if asJSON {
				view := viewOf(found)
				for _, stretch := range system {
					view.System = append(view.System, stretchView(stretch))
				}
				return printJSON(cmd.OutOrStdout(), view)
			}
			s := newScreen(cmd.OutOrStdout())
			showRole(s, known.loaded, found)
			s.line("\n%s", s.paint(bold, fmt.Sprintf("Prompt at depth %d", of.depth)))
			for _, stretch := range system {
				s.line("%s\n%s", s.paint(dim, strings.Repeat("─", 80)), stretch.Text)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().StringVar(&of.task, "task", "Find out what this project is for and report it in three sentences.", "the task to show in the prompt")
	cmd.Flags().StringVar(&of.criteria, "criteria", "", "the success criteria to show in the prompt")
	cmd.Flags().IntVar(&of.depth, "depth", 1, "the level of delegation to show the prompt for; 0 is the orchestrator")
	return cmd
}

// prompt writes the system prompt that a role would get here.
func (r roster) prompt(shown role.Role, of sample) ([]prompt.Stretch, []document.Warning, error) {
	s := app.Here(r.sources.Project)
	s.Role, s.Limits, s.Parent = shown, shown.Limits, "main"
	s.Task, s.Criteria, s.Depth = of.task, of.criteria, of.depth
	guides, warnings := prompt.Guides(r.sources, r.sources.Project)
	s.Guides = guides
	prompts, err := prompt.Load(r.Registry)
	if err != nil {
		return nil, nil, err
	}
	system, err := prompts.For(s)
	return system, warnings, err
}

func viewOf(r role.Role) roleView {
	return roleView{Role: r, Hash: r.Hash, File: r.File, Hidden: r.Hidden, Shadows: r.Shadows, Origins: r.Origins, Extra: r.Extra}
}

// showRole writes a role with where each value came from.
func showRole(s screen, loaded config.Loaded, r role.Role) {
	s.line("%s", strings.TrimRight(s.paint(bold, r.Name)+"  "+s.paint(dim, r.Title), " "))
	for _, part := range wrap(r.Description, 90) {
		s.line("%s", part)
	}
	s.line("")
	from := func(field string) string {
		if o, ok := r.Origins[field]; ok {
			return o.String()
		}
		return "default"
	}
	list := []row{
		{"mode", string(r.Mode), from("mode")},
		{"model", modelOf(loaded, r), from("model")},
		{"effort", r.Effort, from("effort")},
		{"tools", strings.Join(r.Tools, ", "), from("tools")},
		{"may", may(r), "follows from the above"},
		{"delegates to", strings.Join(r.Delegates, ", "), from("can_delegate_to")},
		{"may ask", yes(r.CanAsk), from("can_ask")},
		{"iterations", fmt.Sprint(r.Limits.Iterations), from("max_iterations")},
		{"time", length(r.Limits.Time), from("max_duration")},
		{"cost", dollars(r.Limits.Cost), from("max_cost_usd")},
		{"tokens", positive(r.Limits.Tokens), from("max_tokens")},
		{"depth", fmt.Sprint(r.Limits.Depth), from("max_depth")},
		{"context", string(r.Context), from("context")},
	}
	if r.Evidence {
		list = append(list, row{"evidence", "required", from("evidence")})
	}
	if r.Temperature != nil {
		list = append(list, row{"temperature", fmt.Sprint(*r.Temperature), from("temperature")})
	}
	for i, rule := range r.Rules {
		label := ""
		if i == 0 {
			label = "rules"
		}
		list = append(list, row{label: label, value: rule.String()})
	}
	list = append(list, row{label: "hash", value: r.Hash[:16]})
	s.rows(slices.DeleteFunc(list, func(r row) bool { return r.value == "" }))
}

// modelOf names the role's model and what it stands for.
func modelOf(loaded config.Loaded, r role.Role) string {
	if r.Model == role.Inherit {
		return "inherit: the model of the agent that delegates"
	}
	target, err := loaded.Settings.Target(r.Model)
	if err != nil {
		return r.Model + " (not configured)"
	}
	if target.String() == r.Model {
		return r.Model
	}
	return r.Model + " = " + target.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func dollars(micros int64) string {
	if micros == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f USD", float64(micros)/1e6)
}

func positive(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
