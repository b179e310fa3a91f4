package role

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/document"
)

// Sources says where roles come from and which settings apply to all of them.
type Sources struct {
	// Project is the root of the project, Home the person's folder, ConfigHome their
	// $XDG_CONFIG_HOME. Empty ones are not looked at.
	Project, Home, ConfigHome string
	// Trusted lets the project's roles allow calls that people would otherwise be asked about.
	Trusted bool
	// Preset adds a set of roles above the built-in ones.
	Preset string
	// Defaults are for roles that say nothing.
	Defaults Defaults
	// Rules hold for every role: those that deny win over the role's own, the others give way.
	Rules []Rule
}

// Defaults are the values of a role that sets none itself.
type Defaults struct {
	MaxDepth      int             `json:"max_depth,omitempty" jsonschema:"levels of delegation below the orchestrator"`
	MaxIterations int             `json:"max_iterations,omitempty" jsonschema:"model replies that one task may take"`
	MaxDuration   document.Millis `json:"max_duration,omitempty" jsonschema:"how long one task may be at work, such as 5m"`
	// ApprovalTime is how long a call waits for a person; then it is denied.
	ApprovalTime document.Millis `json:"approval_time,omitempty" jsonschema:"how long a call waits for an approval before it is denied, such as 8h"`
	// QuestionTime is how long a question waits for an answer; then the agent uses its judgement.
	QuestionTime document.Millis `json:"question_time,omitempty" jsonschema:"how long a question waits for an answer before the agent goes on without one, such as 8h"`
	// Models names models for roles and overrides their files.
	Models map[string]string `json:"models,omitempty" jsonschema:"a model or tier for a role, whatever its file says"`
}

// Registry holds the usable roles, and the faults of the others.
type Registry struct {
	// Warnings are in the order in which the files were read.
	Warnings []document.Warning

	roles []Role
}

// Load reads all roles. It fails only when a built-in role is broken.
func Load(from Sources) (*Registry, error) {
	r := &Registry{}
	drafts, err := r.gather(from)
	if err != nil {
		return nil, err
	}
	drafts = slices.DeleteFunc(drafts, func(d *draft) bool { return d.disabled })
	for _, d := range drafts {
		d.fill(from.Defaults)
		d.govern(from.Rules)
	}
	drafts = r.resolve(drafts)
	for _, d := range drafts {
		snapshot, err := d.Role.Snapshot()
		if err != nil {
			return nil, err
		}
		d.Hash = digest(snapshot)
		r.roles = append(r.roles, d.Role)
	}
	slices.SortFunc(r.roles, func(a, b Role) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Name, b.Name))
	})
	return r, nil
}

// rank puts those that talk to people before those that work for them.
func rank(r Role) int {
	if r.Mode == ModePrimary {
		return 0
	}
	return 1
}

// Roles lists every role: first those that talk to people, then by name.
func (r *Registry) Roles() []Role { return slices.Clone(r.roles) }

// Role finds a role by name; case and separators do not matter.
func (r *Registry) Role(name string) (Role, error) {
	var names []string
	for _, role := range r.roles {
		if document.Fold(role.Name) == document.Fold(name) {
			return role, nil
		}
		names = append(names, role.Name)
	}
	return Role{}, &chat.Error{
		Code: chat.CodeNotFound, Message: fmt.Sprintf("there is no role %q: %s", name, document.Meant(name, names)),
	}
}

// gather reads the files, nearest first. Of several roles of one name the first is used.
func (r *Registry) gather(from Sources) ([]*draft, error) {
	var drafts []*draft
	take := func(sources []source) {
		for _, src := range sources {
			d, err := read(src)
			if err != nil {
				r.Warnings = append(r.Warnings, placed(src.file, err))
				continue
			}
			r.Warnings = append(r.Warnings, d.warnings...)
			if i := slices.IndexFunc(drafts, func(o *draft) bool { return document.Fold(o.Name) == document.Fold(d.Name) }); i >= 0 {
				drafts[i].Shadows = append(drafts[i].Shadows, d.File)
				continue
			}
			drafts = append(drafts, d)
		}
	}
	for _, place := range from.Dirs() {
		sources, warnings := place.files()
		r.Warnings = append(r.Warnings, warnings...)
		take(sources)
	}
	folders := []string{"roles"}
	if from.Preset != "" {
		folders = []string{"presets/" + from.Preset, "roles"}
	}
	for _, folder := range folders {
		sources, err := builtInFiles(folder)
		if err != nil {
			return nil, err
		}
		take(sources)
	}
	return drafts, nil
}

// fill gives a role the defaults where it says nothing, and the model that the settings name.
func (d *draft) fill(defaults Defaults) {
	def := agent.DefaultLimits()
	if d.Mode == ModePrimary {
		def = agent.OrchestratorLimits()
	} else {
		def.Iterations = d.orSetting("max_iterations", defaults.MaxIterations, def.Iterations)
		def.Time = int64(d.orSetting("max_duration", int(defaults.MaxDuration), int(def.Time)))
	}
	def.Depth = d.orSetting("max_depth", defaults.MaxDepth, def.Depth)
	l := &d.Limits
	l.Depth, l.Slots = cmp.Or(l.Depth, def.Depth), cmp.Or(l.Slots, def.Slots)
	l.Agents, l.Questions = cmp.Or(l.Agents, def.Agents), cmp.Or(l.Questions, def.Questions)
	l.Iterations, l.Time = cmp.Or(l.Iterations, def.Iterations), cmp.Or(l.Time, def.Time)
	l.PerCall, l.Calls, l.Parallel = cmp.Or(l.PerCall, def.PerCall), def.Calls, def.Parallel
	l.Retries, l.Grace = def.Retries, def.Grace
	approval := int64(d.orSetting("approval_time", int(defaults.ApprovalTime), int(def.ApprovalTime)))
	question := int64(d.orSetting("question_time", int(defaults.QuestionTime), int(def.QuestionTime)))
	l.ApprovalTime, l.QuestionTime = cmp.Or(l.ApprovalTime, approval), cmp.Or(l.QuestionTime, question)
	for name, model := range defaults.Models {
		if document.Fold(name) == document.Fold(d.Name) {
			d.Model = model
			d.Origins["model"] = document.Origin{Kind: document.FromSettings, Name: "roles.models"}
		}
	}
}

// orSetting is the default for a limit: that of the settings, if they have one.
func (d *draft) orSetting(field string, setting, fallback int) int {
	if setting == 0 {
		return fallback
	}
	if _, said := d.Origins[field]; !said {
		d.Origins[field] = document.Origin{Kind: document.FromSettings, Name: "roles." + field}
	}
	return setting
}

// govern puts the settings' rules around the role's own. A tool that is denied altogether is taken
// away.
func (d *draft) govern(rules []Rule) {
	var weak, strong []Rule
	for _, rule := range rules {
		if rule.Verdict != agent.PolicyDeny {
			weak = append(weak, rule)
			continue
		}
		strong = append(strong, rule)
		if rule.Pattern == "" || rule.Pattern == "*" {
			d.forbidden = append(d.forbidden, rule.Tool)
		}
	}
	d.Rules = slices.Concat(weak, d.Rules, strong)
	d.Tools = without(d.Tools, d.forbidden)
	d.Authority = needs(d.Tools)
}
