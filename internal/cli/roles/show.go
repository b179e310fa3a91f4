package roles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/settings"
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

func rolesShow(flags *settings.Flags) *cobra.Command {
	var asJSON bool
	var of sample
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a role as it is resolved, and the prompt it gets", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := load(cmd, flags)
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
			settings.Warn(cmd, warnings)
			if asJSON {
				view := viewOf(found)
				for _, stretch := range system {
					view.System = append(view.System, stretchView(stretch))
				}
				return output.JSON(cmd.OutOrStdout(), view)
			}
			s := output.New(cmd.OutOrStdout())
			showRole(s, known.loaded, found)
			s.Line("\n%s", s.Paint(output.Bold, fmt.Sprintf("Prompt at depth %d", of.depth)))
			for _, stretch := range system {
				s.Line("%s\n%s", s.Paint(output.Dim, strings.Repeat("─", 80)), stretch.Text)
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
func showRole(s output.Screen, loaded config.Loaded, r role.Role) {
	s.Line("%s", strings.TrimRight(s.Paint(output.Bold, r.Name)+"  "+s.Paint(output.Dim, r.Title), " "))
	for _, part := range output.Wrap(r.Description, 90) {
		s.Line("%s", part)
	}
	s.Line("")
	from := func(field string) string {
		if o, ok := r.Origins[field]; ok {
			return o.String()
		}
		return "default"
	}
	list := []output.Row{
		{Label: "mode", Value: string(r.Mode), Remark: from("mode")},
		{Label: "model", Value: modelOf(loaded, r), Remark: from("model")},
		{Label: "effort", Value: r.Effort, Remark: from("effort")},
		{Label: "tools", Value: strings.Join(r.Tools, ", "), Remark: from("tools")},
		{Label: "may", Value: may(r), Remark: "follows from the above"},
		{Label: "delegates to", Value: strings.Join(r.Delegates, ", "), Remark: from("can_delegate_to")},
		{Label: "may ask", Value: yes(r.CanAsk), Remark: from("can_ask")},
		{Label: "iterations", Value: fmt.Sprint(r.Limits.Iterations), Remark: from("max_iterations")},
		{Label: "time", Value: length(r.Limits.Time), Remark: from("max_duration")},
		{Label: "cost", Value: dollars(r.Limits.Cost), Remark: from("max_cost_usd")},
		{Label: "tokens", Value: positive(r.Limits.Tokens), Remark: from("max_tokens")},
		{Label: "depth", Value: fmt.Sprint(r.Limits.Depth), Remark: from("max_depth")},
		{Label: "context", Value: string(r.Context), Remark: from("context")},
	}
	if r.Evidence {
		list = append(list, output.Row{Label: "evidence", Value: "required", Remark: from("evidence")})
	}
	if r.Temperature != nil {
		list = append(list, output.Row{Label: "temperature", Value: fmt.Sprint(*r.Temperature), Remark: from("temperature")})
	}
	for i, rule := range r.Rules {
		label := ""
		if i == 0 {
			label = "rules"
		}
		list = append(list, output.Row{Label: label, Value: rule.String()})
	}
	list = append(list, output.Row{Label: "hash", Value: r.Hash[:16]})
	s.Rows(slices.DeleteFunc(list, func(r output.Row) bool { return r.Value == "" }))
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
