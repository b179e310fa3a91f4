package prompt

import (
	"embed"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// Stretch is one part of a system prompt. The part that changes least comes first.
type Stretch struct {
	Text string
	// Cache marks the end of what stays the same from call to call.
	Cache bool
}

// Situation is the input of a prompt: a role, and the place in which it works.
type Situation struct {
	Role role.Role
	// Depth is zero for an orchestrator; Parent is the parent's role.
	Depth  int
	Parent string
	Task   string
	// Criteria are the caller's; the role's own are used when it gave none.
	Criteria string
	// Files are where to begin.
	Files []string
	// Limits are those of the run, which may be tighter than the role's.
	Limits agent.Limits
	// Silent means that no person can be asked.
	Silent   bool
	Guides   []Guide
	Cwd      string
	Platform string
	// Date is the day, as it should read: config has no clock.
	Date string
}

// The data of each template. Their fields are the variables; texts that people or models wrote are
// put in as they are, and never looked through for variables.
type (
	subagentData struct {
		Role, ParentRole, Task, Criteria, MaxDuration, Can, AllowedDelegations string
		Depth, MaxDepth, MaxIterations                                         int
		Files                                                                  []string
		Ask, Evidence, Shaped                                                  bool
	}
	workspaceData struct {
		Guides              []Guide
		Cwd, Platform, Date string
	}
	delegationData struct{ Delegates []delegate }
	delegate       struct {
		Name, Description, Tools, Duration, Cost string
		Iterations                               int
	}
	resolveData struct {
		Role, Task, QuestionID, Question string
		Options                          []string
	}
	routeData struct {
		Questions []OpenQuestion
		Message   string
	}
	compactData struct{ Pins []string }
	titleData   struct{ Message string }
)

// Set is the texts that come with the program, and the roles they speak of.
type Set struct {
	roles     *role.Registry
	templates *template.Template
}

// samples fill every template twice, with everything and with nothing, so that each branch is
// taken once.
var samples = map[string][2]any{
	"ground.md":       {struct{}{}, struct{}{}},
	"orchestrator.md": {struct{}{}, struct{}{}},
	"delegation.md":   {delegationData{[]delegate{{}}}, delegationData{}},
	"subagent.md":     {subagentData{Criteria: "x", Files: []string{"x"}, Ask: true, Evidence: true, Shaped: true, AllowedDelegations: "x"}, subagentData{}},
	"workspace.md":    {workspaceData{Guides: []Guide{{Cut: true}}}, workspaceData{}},
	"resolve.md":      {resolveData{Options: []string{"x"}}, resolveData{}},
	"route.md":        {routeData{Questions: []OpenQuestion{{}}}, routeData{}},
	"compact.md":      {compactData{[]string{"x"}}, compactData{}},
	"title.md":        {titleData{}, titleData{}},
}

// Load parses the templates and tries each: a variable that does not exist is found here,
// not in the middle of a run.
func Load(roles *role.Registry) (*Set, error) {
	set, err := template.ParseFS(promptFiles, "prompts/*.md")
	if err != nil {
		return nil, fmt.Errorf("parse prompts: %w", err)
	}
	if err := try(set); err != nil {
		return nil, err
	}
	return &Set{roles: roles, templates: set}, nil
}

// try fills every template.
func try(set *template.Template) error {
	for name, pair := range samples {
		for _, data := range pair {
			if err := set.ExecuteTemplate(io.Discard, name, data); err != nil {
				return fmt.Errorf("try prompt: %w", err)
			}
		}
	}
	return nil
}

func (p *Set) render(name string, data any) (string, error) {
	var out strings.Builder
	if err := p.templates.ExecuteTemplate(&out, name, data); err != nil {
		return "", fmt.Errorf("write prompt: %w", err)
	}
	return strings.TrimSpace(out.String()), nil
}

// For writes the system prompt of a role in a situation: first what belongs to the role, then to
// the workspace, then to the task.
func (p *Set) For(s Situation) ([]Stretch, error) {
	delegates := p.delegates(s)
	parts := []string{s.Role.Prompt}
	add := func(name string, data any) error {
		text, err := p.render(name, data)
		parts = append(parts, text)
		return err
	}
	if err := add("ground.md", nil); err != nil {
		return nil, err
	}
	if s.Depth == 0 {
		if err := add("orchestrator.md", nil); err != nil {
			return nil, err
		}
	}
	if len(delegates) > 0 {
		if err := add("delegation.md", delegationData{delegates}); err != nil {
			return nil, err
		}
	}
	place, err := p.render("workspace.md", workspaceData{s.Guides, s.Cwd, s.Platform, s.Date})
	if err != nil {
		return nil, err
	}
	out := []Stretch{{Text: strings.Join(parts, "\n\n"), Cache: true}, {Text: place, Cache: true}}
	if s.Depth == 0 {
		return out, nil
	}
	task, err := p.render("subagent.md", s.data(delegates))
	if err != nil {
		return nil, err
	}
	return append(out, Stretch{Text: task, Cache: true}), nil
}

func (s Situation) data(delegates []delegate) subagentData {
	d := subagentData{
		Role: s.Role.Name, Depth: s.Depth, MaxDepth: s.Limits.Depth, ParentRole: s.Parent,
		Task: strings.TrimSpace(s.Task), Criteria: strings.TrimSpace(s.Criteria), Files: s.Files,
		MaxIterations: s.Limits.Iterations, MaxDuration: document.Millis(s.Limits.Time).Words(),
		Can: "CANNOT", Ask: s.Role.CanAsk && !s.Silent, Evidence: s.Role.Evidence, Shaped: len(s.Role.Result) > 0,
	}
	if d.Criteria == "" {
		d.Criteria = s.Role.Criteria
	}
	if len(delegates) > 0 {
		d.Can = "CAN"
		var names []string
		for _, to := range delegates {
			names = append(names, to.Name)
		}
		d.AllowedDelegations = strings.Join(names, ", ")
	}
	return d
}

// describeCap is the largest size of one role's description in another's prompt.
const describeCap = 600

// delegates describes the roles that may be delegated to in this situation, if any.
func (p *Set) delegates(s Situation) []delegate {
	var out []delegate
	if s.Depth+1 > s.Limits.Depth {
		return nil
	}
	for _, name := range s.Role.Delegates {
		role, err := p.roles.Role(name)
		if err != nil {
			continue // it existed when the snapshot was taken; the core refuses it by name
		}
		tools := strings.Join(role.Tools, ", ")
		if tools == "" {
			tools = "none"
		}
		out = append(out, delegate{
			Name: role.Name, Description: document.Clip(strings.Join(strings.Fields(role.Description), " "), describeCap),
			Tools: tools, Iterations: role.Limits.Iterations, Duration: document.Millis(role.Limits.Time).Words(), Cost: role.CostClass(),
		})
	}
	return out
}
