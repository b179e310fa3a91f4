package role

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
)

// field is one field of a role's front matter.
type field struct {
	name string
	// aliases are other spellings; case and separators do not matter in any of them.
	aliases []string
	// adds means that several fields of this name may speak, each adding to the others.
	adds bool
	set  func(*draft, document.Node) error
}

// fields is every field that means something, a few of them under two units.
func fields() []field {
	return slices.Concat(identityFields(), modelFields(), toolFields(), limitFields())
}

// foreign are fields of other programs that mean nothing here. Those that are true would change
// what an agent does there, so their author is told.
var foreign = map[string]bool{
	"skills": true, "mcpservers": true, "hooks": true, "memory": true, "background": true,
	"initialprompt": true, "condenser": true, "commands": true, "toolsets": true,
	"topp": true, "options": true, "runtime": true, "resume": true, "overridable": true,
	"license": false, "version": false, "metadata": false, "tags": false, "author": false,
	"compatibility": false, "$schema": false, "category": false,
}

// placeholder matches a template variable in other programs' prompts.
var placeholder = regexp.MustCompile(`\{\{\s*[A-Z][A-Z_/]*\s*\}\}`)

func findField(key string) *field {
	same := func(name string) bool { return document.Fold(name) == document.Fold(key) }
	for _, f := range fields() {
		if same(f.name) || slices.ContainsFunc(f.aliases, same) {
			return &f
		}
	}
	return nil
}

// fieldNames lists the canonical names.
func fieldNames() []string {
	var names []string
	for _, f := range fields() {
		names = append(names, f.name)
	}
	return names
}

func identityFields() []field {
	return []field{
		{name: "name", aliases: []string{"role_id", "id"}, set: func(d *draft, n document.Node) error { return n.ToText(&d.Name) }},
		{name: "title", aliases: []string{"display_name"}, set: func(d *draft, n document.Node) error { return n.ToText(&d.Title) }},
		{name: "description", aliases: []string{"when_to_use"}, set: func(d *draft, n document.Node) error { return n.ToText(&d.Description) }},
		{name: "prompt", aliases: []string{"system_prompt", "prompt_file", "system_prompt_file"}, set: (*draft).setPrompt},
		{name: "mode", set: func(d *draft, n document.Node) error {
			return document.ToWord(n, &d.Mode, ModePrimary, ModeSubagent, ModeAll)
		}},
		{name: "hidden", set: func(d *draft, n document.Node) error { return n.ToBool(&d.Hidden) }},
		{name: "disable", aliases: []string{"disabled"}, set: func(d *draft, n document.Node) error { return n.ToBool(&d.disabled) }},
		{name: "color", aliases: []string{"colour"}, set: func(d *draft, n document.Node) error { return n.ToText(&d.Color) }},
		{name: "icon", set: func(d *draft, n document.Node) error { return n.ToText(&d.Icon) }},
		{name: "context", aliases: []string{"context_mode"}, set: func(d *draft, n document.Node) error {
			return document.ToWord(n, &d.Context, ContextNone, ContextSelective, ContextSummary, ContextFull)
		}},
		{name: "success_criteria", aliases: []string{"criteria"}, set: func(d *draft, n document.Node) error { return n.ToText(&d.Criteria) }},
		{name: "isolation", set: func(d *draft, n document.Node) error {
			return document.ToWord(n, &d.Isolation, agent.IsolationShared, agent.IsolationWorktree)
		}},
		{name: "can_ask", aliases: []string{"ask"}, set: func(d *draft, n document.Node) error { return n.ToBool(&d.CanAsk) }},
		{name: "immediate", set: func(d *draft, n document.Node) error { return n.ToBool(&d.Immediate) }},
		{name: "fail_unanswered", set: func(d *draft, n document.Node) error { return n.ToBool(&d.FailUnanswered) }},
		{name: "evidence", set: (*draft).setEvidence},
		{name: "expose_as_tool", set: func(d *draft, n document.Node) error { return n.ToBool(&d.ExposeAsTool) }},
		{name: "input_schema", set: func(d *draft, n document.Node) error { return n.ToSchema(&d.Input) }},
		{name: "output_schema", aliases: []string{"structured_output"}, set: func(d *draft, n document.Node) error { return n.ToSchema(&d.Result) }},
	}
}

// setEvidence takes whether a result counts only with something done to show for it.
func (d *draft) setEvidence(n document.Node) error {
	const optional, required = "optional", "required"
	word := optional
	err := document.ToWord(n, &word, optional, required)
	d.Evidence = word == required
	return err
}

// fileRef is a reference to a file: {file:prompts/coder.md}.
var fileRef = regexp.MustCompile(`^\{file:(.+)\}$`)

// setPrompt takes instructions from the front matter, or from the file it names.
func (d *draft) setPrompt(n document.Node) error {
	var text string
	if err := n.ToText(&text); err != nil {
		return err
	}
	m := fileRef.FindStringSubmatch(text)
	if m == nil && strings.ContainsAny(text, " \n") {
		d.Prompt = strings.TrimSpace(text)
		return nil
	}
	name := text
	if m != nil {
		name = m[1]
	}
	if d.include == nil {
		return n.Complain("%s cannot be read from here", name)
	}
	body, err := d.include(strings.TrimSpace(name))
	if err != nil {
		return n.Complain("%v", err)
	}
	if d.Prompt = strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n")); d.Prompt == "" {
		return n.Complain("%s is empty", name)
	}
	return nil
}

func modelFields() []field {
	return []field{
		{name: "model", aliases: []string{"model_id"}, set: func(d *draft, n document.Node) error {
			return toModel(n, &d.Model)
		}},
		{name: "fallback", aliases: []string{"fallbacks", "fallback_models"}, set: func(d *draft, n document.Node) error {
			for _, p := range n.Pairs {
				if document.Fold(p.Key) == "models" {
					n = p.Value
				}
			}
			words, err := n.Words()
			for _, w := range words {
				var model string
				if err := toModel(w, &model); err != nil {
					return err
				}
				d.Fallback = append(d.Fallback, model)
			}
			return err
		}},
		{name: "effort", aliases: []string{"reasoning_effort"}, set: func(d *draft, n document.Node) error {
			// The words beyond ours are those of other programs, read as the nearest.
			near := map[string]string{"minimal": "low", "max": "high", "xhigh": "high"}
			if word, ok := near[strings.ToLower(n.Text)]; ok {
				n.Text = word
			}
			return document.ToWord(n, &d.Effort, "none", "low", "medium", "high")
		}},
		{name: "temperature", set: func(d *draft, n document.Node) error {
			t, err := strconv.ParseFloat(n.Text, 64)
			if err != nil || n.Kind == document.Bool || !(t >= 0 && t <= 2) {
				return n.Complain("expected a number from 0 to 2")
			}
			d.Temperature = &t
			return nil
		}},
	}
}

// families are the words for models that other programs use, as tiers of ours.
var families = map[string]string{"haiku": TierFast, "sonnet": TierBalanced, "opus": TierStrong, "opusplan": TierStrong}

// toModel reads a reference to a model.
func toModel(n document.Node, to *string) error {
	var text string
	if err := n.ToText(&text); err != nil {
		return err
	}
	word, _, _ := strings.Cut(strings.ToLower(text), "[") // a suffix such as [1m] asks for a larger window
	switch tier, ok := families[word]; {
	case ok:
		text = tier
	case word == Inherit || word == TierFast || word == TierBalanced || word == TierStrong:
		text = word
	case len(text) > 200 || strings.ContainsAny(text, " \t\n"):
		return n.Complain("expected inherit, a tier (fast, balanced, strong) or provider/model")
	}
	*to = text
	return nil
}

const (
	// leastTokens is a budget under which no agent gets to its first reply.
	leastTokens = 1000
	// mostAgents is how many agents a role may start, at once or with one call.
	mostAgents = 2000
)

func limitFields() []field {
	return []field{
		{name: "max_iterations", aliases: []string{"max_turns", "steps", "max_steps", "max_iteration_per_run", "iterations"}, set: func(d *draft, n document.Node) error {
			return n.ToCount(&d.Limits.Iterations, 1000)
		}},
		{name: "max_duration", aliases: []string{"max_duration_s", "max_duration_seconds", "timeout", "timeout_seconds"}, set: func(d *draft, n document.Node) error {
			return n.ToMillis(time.Second, &d.Limits.Time)
		}},
		{name: "max_duration", aliases: []string{"max_duration_ms", "timeout_ms"}, set: func(d *draft, n document.Node) error {
			return n.ToMillis(time.Millisecond, &d.Limits.Time)
		}},
		{name: "approval_time", aliases: []string{"approval_timeout"}, set: func(d *draft, n document.Node) error {
			return n.ToMillis(time.Second, &d.Limits.ApprovalTime)
		}},
		{name: "question_time", aliases: []string{"question_timeout"}, set: func(d *draft, n document.Node) error {
			return n.ToMillis(time.Second, &d.Limits.QuestionTime)
		}},
		{name: "max_cost_usd", aliases: []string{"max_budget_per_run", "max_budget_usd", "max_cost"}, set: func(d *draft, n document.Node) error {
			return n.ToMicros(&d.Limits.Cost)
		}},
		{name: "max_tokens", set: func(d *draft, n document.Node) error {
			var tokens int
			err := n.ToCount(&tokens, 1_000_000_000)
			if err == nil && tokens < leastTokens {
				err = n.Complain("%d tokens are not enough for one turn: give at least %d", tokens, leastTokens)
			}
			d.Limits.Tokens = int64(tokens)
			return err
		}},
		{name: "max_depth", set: func(d *draft, n document.Node) error { return n.ToCount(&d.Limits.Depth, 10) }},
		{name: "max_parallel", aliases: []string{"max_width", "max_concurrent"}, set: func(d *draft, n document.Node) error { return n.ToCount(&d.Limits.Slots, mostAgents) }},
		{name: "max_tasks_per_call", set: func(d *draft, n document.Node) error { return n.ToCount(&d.Limits.PerCall, mostAgents) }},
		{name: "max_agents", set: func(d *draft, n document.Node) error {
			var agents int
			err := n.ToCount(&agents, mostAgents)
			d.Limits.Agents = int64(agents)
			return err
		}},
		{name: "max_questions", set: func(d *draft, n document.Node) error { return n.ToCount(&d.Limits.Questions, 100) }},
	}
}
