package cast

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/prompt"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

// rolesFor is how long roles that were read count as current: an edit is seen soon, and a burst of
// work reads the files once.
const rolesFor = 5 * time.Second

// defaultOutput is the most that a reply may have when nothing is known of its model.
const defaultOutput = 8192

// Options say what a catalog reads.
type Options struct {
	Loaded config.Loaded
	// Folder is where a workspace is on this machine, empty if it is not here.
	Folder func(host.Workspace) string
	// Tree is where a tree beside a workspace is or will be.
	Tree func(at host.Workspace, tree string) (string, error)
	// Vault takes secrets out of what roles and instructions say: it is kept, and sent to models.
	Vault *secret.Vault
}

// Catalog knows roles and prompts. It fills host.Catalog, and what people and other programs are
// told of roles, from the files of each workspace.
type Catalog struct {
	options Options
	prices  *model.Prices

	mu sync.Mutex
	// known is by folder, of which there are as many as this machine serves. A caller may call a
	// workspace anything.
	known map[string]registry
	// denials are what the person who runs the machine denied when they were read.
	denials     []role.Rule
	denialsRead time.Time
	// sinks are calls that the rules decide about although their agent is tainted.
	sinks role.Role
}

// registry is the roles of one workspace as they were read.
type registry struct {
	*role.Registry
	prompts *prompt.Set
	sources role.Sources
	read    time.Time
}

// New reads the prices and no role yet.
func New(o Options) (*Catalog, error) {
	prices, err := model.NewPrices(model.PriceOptions{Override: overrides(o.Loaded.Settings.Models)})
	if err != nil {
		return nil, err
	}
	sinks, err := o.Loaded.Settings.Taint.SinkRules()
	if err != nil {
		return nil, err
	}
	return &Catalog{options: o, prices: prices, known: map[string]registry{}, sinks: role.Role{Rules: sinks}}, nil
}

// roles reads the roles of a workspace.
func (c *Catalog) roles(at host.Workspace) (registry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	folder := c.options.Folder(at)
	if r, ok := c.known[folder]; ok && time.Since(r.read) < rolesFor {
		return r, nil
	}
	sources, err := c.options.Loaded.Sources()
	if err != nil {
		return registry{}, err
	}
	if folder != "" && folder != sources.Project {
		sources.Project, sources.Trusted = folder, slices.Contains(c.options.Loaded.Settings.Trust, folder)
	}
	loaded, err := role.Load(sources)
	if err != nil {
		return registry{}, err
	}
	prompts, err := prompt.Load(loaded)
	if err != nil {
		return registry{}, err
	}
	r := registry{Registry: loaded, prompts: prompts, sources: sources, read: time.Now()}
	c.known[folder] = r
	return r, nil
}

// ResolveRole implements host.Catalog.
func (c *Catalog) ResolveRole(at host.Workspace, name string) (host.ResolvedRole, error) {
	roles, err := c.roles(at)
	if err != nil {
		return host.ResolvedRole{}, err
	}
	r, err := roles.Role(name)
	if err != nil {
		return host.ResolvedRole{}, &chat.Error{Code: chat.CodeNotFound, Message: err.Error()}
	}
	snapshot, err := r.Snapshot()
	if err != nil {
		return host.ResolvedRole{}, err
	}
	spec := r.Spec()
	if spec.Model.Name != "" {
		if spec.Model, err = c.Model(spec.Model.Name); err != nil {
			return host.ResolvedRole{}, &chat.Error{Code: chat.CodeInvalid, Message: err.Error()}
		}
	}
	resolved := host.ResolvedRole{Spec: spec, Snapshot: c.options.Vault.RedactJSON(string(snapshot))}
	if r.ExposeAsTool {
		resolved.Exposed = &model.Tool{Name: r.Name, Description: r.Description, Schema: r.Input}
	}
	return resolved, nil
}

// Model is what is known of a model by a role's name for it.
func (c *Catalog) Model(name string) (agent.Model, error) {
	target, err := c.options.Loaded.Settings.Target(name)
	if err != nil {
		return agent.Model{}, err
	}
	out := agent.Model{Name: name, MaxOutput: defaultOutput}
	switch name {
	case role.TierFast, role.TierBalanced, role.TierStrong:
	default:
		out.Name = target.String()
	}
	if window, ok := c.prices.Window(target.Provider, target.Model); ok {
		out.Window = window
	}
	all, err := c.options.Loaded.Settings.Targets(name)
	if err != nil {
		return agent.Model{}, err
	}
	for _, t := range all {
		out.InputPrice = max(out.InputPrice, c.price(t, chat.Usage{Input: million}), c.price(t, chat.Usage{CacheWrite: million}))
		out.OutputPrice = max(out.OutputPrice, c.price(t, chat.Usage{Output: million}))
	}
	if known, ok := c.options.Loaded.Settings.Models[target.String()]; ok {
		if known.Window > 0 {
			out.Window = int64(known.Window)
		}
		if known.MaxOutput > 0 {
			out.MaxOutput = int64(known.MaxOutput)
		}
	}
	return out, nil
}

// million is how many tokens prices are for.
const million = 1_000_000

// price is what a usage of a model costs, zero if nobody knows. The most that a call may cost is
// reckoned with the dearest of the model and its fallbacks, and as if everything that is sent were
// written to the provider's cache.
func (c *Catalog) price(t config.Target, u chat.Usage) int64 {
	cost, _ := c.prices.Cost(t.Provider, t.Model, u, time.Now())
	return cost
}

// Script implements host.Catalog.
func (c *Catalog) Script(s host.PromptInput) (host.Prompt, error) {
	roles, err := c.roles(s.Workspace)
	if err != nil {
		return host.Prompt{}, err
	}
	r, err := role.Thaw([]byte(s.Snapshot))
	if err != nil {
		return host.Prompt{}, err
	}
	folder := c.options.Folder(s.Workspace)
	guides, _ := prompt.Guides(roles.sources, folder) // what is wrong with them, doctor says
	cwd := folder
	if s.Tree != "" {
		// Where the tree cannot be found the workspace will do: its paths mean the tree's files too.
		if path, err := c.options.Tree(s.Workspace, s.Tree); err == nil {
			cwd = path
		}
	}
	stretches, err := roles.prompts.For(prompt.Situation{
		Role: r, Depth: s.Brief.Depth, Parent: s.ParentRole, Task: s.Task, Criteria: s.Criteria, Files: s.Files,
		Limits: s.Brief.Limits, Silent: s.Brief.Headless, Guides: guides, Cwd: cwd,
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Date: s.Began.Format(time.DateOnly),
	})
	if err != nil {
		return host.Prompt{}, err
	}
	out := host.Prompt{Effort: model.Effort(r.Effort), Temperature: r.Temperature}
	for _, p := range stretches {
		out.System = append(out.System, model.Instruction{Text: c.options.Vault.Redact(p.Text), Cache: p.Cache})
	}
	return out, nil
}

// Verdict implements host.Catalog.
func (c *Catalog) Verdict(snapshot, name string, matters []tool.Matter) (agent.Policy, error) {
	r, err := role.Thaw([]byte(snapshot))
	if err != nil {
		return agent.PolicyAsk, err
	}
	list := mattersOf(matters)
	denials, err := c.denied()
	if err != nil {
		return agent.PolicyAsk, err
	}
	if (role.Role{Rules: denials}).Judge(name, list) == agent.PolicyDeny {
		return agent.PolicyDeny, nil
	}
	return r.Judge(name, list), nil
}

// Output implements host.Catalog.
func (c *Catalog) Output(snapshot string) (*host.Output, error) {
	r, err := role.Thaw([]byte(snapshot))
	if err != nil {
		return nil, err
	}
	o, err := r.Output()
	if err != nil || o == nil {
		return nil, err
	}
	return &host.Output{Schema: o.Schema, Closed: o.Open == "", Check: o.Check}, nil
}

func mattersOf(matters []tool.Matter) []role.Matter {
	list := make([]role.Matter, len(matters))
	for i, m := range matters {
		list[i] = role.Matter(m)
	}
	return list
}

// Sink implements host.Catalog.
func (c *Catalog) Sink(name string, matters []tool.Matter) bool {
	return c.sinks.Judge(name, mattersOf(matters)) == agent.PolicyAllow
}

// Strange implements host.Catalog.
func (c *Catalog) Strange(path string) bool { return c.options.Loaded.Settings.Taint.Strange(path) }

// denied reads what the person who runs the machine denies, again after a while.
func (c *Catalog) denied() ([]role.Rule, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.denialsRead) < rolesFor {
		return c.denials, nil
	}
	denials, err := c.options.Loaded.Denials()
	if err != nil {
		return nil, err
	}
	c.denials, c.denialsRead = denials, time.Now()
	return denials, nil
}

// Compaction implements host.Catalog.
func (c *Catalog) Compaction(pins []string) (string, error) {
	roles, err := c.roles(host.Workspace{})
	if err != nil {
		return "", err
	}
	return roles.prompts.Compact(pins)
}

// Resolution implements host.Catalog.
func (c *Catalog) Resolution(q host.OpenQuestion) (string, error) {
	roles, err := c.roles(host.Workspace{})
	if err != nil {
		return "", err
	}
	return roles.prompts.Resolve(prompt.Asking{
		Question: prompt.OpenQuestion{ID: q.ID, Role: q.Role, Text: q.Text}, Task: q.Task, Options: q.Options,
	})
}

// Routing implements host.Catalog.
func (c *Catalog) Routing(message string, open []host.OpenQuestion) (string, error) {
	roles, err := c.roles(host.Workspace{})
	if err != nil {
		return "", err
	}
	var questions []prompt.OpenQuestion
	for _, q := range open {
		questions = append(questions, prompt.OpenQuestion{ID: q.ID, Role: q.Role, Text: q.Text})
	}
	return roles.prompts.Route(message, questions)
}
