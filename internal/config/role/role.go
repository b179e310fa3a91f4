package role

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
)

// Role is the definition of an agent as it was when the registry was loaded. Its JSON is the
// snapshot a run keeps: everything that has an effect on a run, and nothing else.
type Role struct {
	Name string `json:"name"`
	// Title is the name people see.
	Title string `json:"title,omitempty"`
	// Description says when to use the role. A delegating model reads it.
	Description string `json:"description"`
	// Prompt is the role's own part of the system prompt, word for word.
	Prompt string `json:"prompt"`
	Mode   Mode   `json:"mode"`

	// Model is inherit, a tier, provider/id or the id of a model of the default provider.
	Model       string   `json:"model"`
	Fallback    []string `json:"fallback,omitempty"`
	Effort      string   `json:"effort,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`

	// Tools are the tools that the role is offered, sorted; Authority adds those that it may pass
	// on.
	Tools     []string        `json:"tools,omitempty"`
	Authority agent.Authority `json:"authority"`
	Rules     []Rule          `json:"rules,omitempty"`
	// Delegates are the roles it may hand work to, sorted.
	Delegates []string     `json:"delegates,omitempty"`
	Limits    agent.Limits `json:"limits"`

	CanAsk         bool `json:"can_ask,omitempty"`
	Immediate      bool `json:"immediate,omitempty"`
	FailUnanswered bool `json:"fail_unanswered,omitempty"`
	// Evidence means that a result counts only if the run did something that leaves a fact.
	Evidence bool `json:"evidence,omitempty"`
	// ExposeAsTool offers the role under its own name, with Input as its arguments.
	ExposeAsTool bool            `json:"expose_as_tool,omitempty"`
	Input        json.RawMessage `json:"input_schema,omitempty"`
	// Result is the schema that a result must fit, as Output reads it.
	Result  json.RawMessage `json:"output_schema,omitempty"`
	Context ContextMode     `json:"context"`
	// Isolation says whether the role works in a tree of its own.
	Isolation agent.Isolation `json:"isolation,omitempty"`
	// Criteria are the criteria of a task of this role when the caller gives none.
	Criteria string `json:"success_criteria,omitempty"`

	// Hash names the snapshot.
	Hash string `json:"-"`
	// Hidden roles are left out of lists and of delegation to *; they can still be named.
	Hidden bool   `json:"-"`
	Color  string `json:"-"`
	Icon   string `json:"-"`
	// File is where the role was read, Shadows the files of the same name that it hides.
	File    string   `json:"-"`
	Shadows []string `json:"-"`
	// Origins says where each value came from, by the canonical name of its field.
	Origins map[string]document.Origin `json:"-"`
	// Extra holds the fields that mean nothing here.
	Extra map[string]any `json:"-"`
}

// Mode is whether a role talks to people, works for other agents, or both.
type Mode string

// The modes.
const (
	ModePrimary  Mode = "primary"
	ModeSubagent Mode = "subagent"
	ModeAll      Mode = "all"
)

// ContextMode is how much of the parent's transcript a sub-agent is shown.
type ContextMode string

// The context modes.
const (
	ContextNone      ContextMode = "none"
	ContextSelective ContextMode = "selective"
	ContextSummary   ContextMode = "summary"
	ContextFull      ContextMode = "full"
)

// Inherit is the model of a role that uses its parent's.
const Inherit = "inherit"

// The tiers stand for models that the settings name.
const (
	TierFast     = "fast"
	TierBalanced = "balanced"
	TierStrong   = "strong"
)

// specBytes is the most that the names in a role's spec may take together: a brief has room for
// 3 KiB, of which some goes to its ids and numbers.
const specBytes = 1800

// Spec is the role as the core takes it. The host replaces Model by its data of the model that
// Model.Name stands for; the empty name is the parent's model.
func (r Role) Spec() agent.RoleSpec {
	spec := agent.RoleSpec{
		Name: r.Name, Hash: r.Hash,
		CanDelegate: len(r.Delegates) > 0, Delegates: slices.Clone(r.Delegates),
		CanAsk: r.CanAsk, Immediate: r.Immediate, FailUnanswered: r.FailUnanswered, Evidence: r.Evidence, Shaped: len(r.Result) > 0,
		Isolation: r.Isolation,
		Authority: agent.Authority{
			Tools: slices.Clone(r.Authority.Tools), Write: r.Authority.Write, Network: r.Authority.Network,
		},
		Tools: slices.Clone(r.Tools), Limits: r.Limits,
	}
	if r.Model != Inherit {
		spec.Model.Name = r.Model
	}
	return spec
}

// Snapshot is the canonical JSON of the role. Its hash changes if and only if something that has an
// effect on a run does.
func (r Role) Snapshot() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write role %s: %w", r.Name, err)
	}
	return data, nil
}

// Thaw reads a role from the snapshot that a run kept.
func Thaw(snapshot []byte) (Role, error) {
	var r Role
	if err := json.Unmarshal(snapshot, &r); err != nil {
		return Role{}, fmt.Errorf("read role snapshot: %w", err)
	}
	r.Hash = digest(snapshot)
	return r, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Own is the authority of the role's own tools, without those that it only passes on.
func (r Role) Own() agent.Authority { return needs(r.Tools) }

// CostClass is how dear the role's model is, for a model that chooses between roles.
func (r Role) CostClass() string {
	switch r.Model {
	case TierFast:
		return "low"
	case TierBalanced:
		return "medium"
	case TierStrong:
		return "high"
	case Inherit:
		return "same as yours"
	}
	return "set by its model"
}

// size is the size of the names in the role's spec in a brief.
func (r Role) size() int {
	n := len(r.Name) + len(r.Model) + sha256.Size*2
	for _, list := range [][]string{r.Delegates, r.Authority.Tools, r.Tools} {
		for _, text := range list {
			n += len(text) + len(`"",`)
		}
	}
	return n
}
