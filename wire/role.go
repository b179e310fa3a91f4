package wire

// Role describes a role to people.
type Role struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description"`
	Icon        string     `json:"icon,omitempty"`
	Mode        string     `json:"mode,omitempty" enum:"primary,subagent,all" doc:"Whether it talks to people, works for other agents, or both."`
	Model       string     `json:"model,omitempty" doc:"A tier, a model, or inherit for that of the agent that delegates."`
	Resolved    string     `json:"resolved_model,omitempty" doc:"What the tier or model stands for here; absent if nothing is configured."`
	Tools       []string   `json:"tools"`
	Asks        []ToolRule `json:"tool_rules" doc:"Which of its tools ask a person first, one for each tool."`
	Delegates   []string   `json:"delegates" doc:"The roles that it may ask for help."`
	DelegatedBy []string   `json:"delegated_by" doc:"The roles that may ask it for help."`

	MaxIterations int   `json:"max_iterations,omitempty"`
	MaxDuration   int64 `json:"max_duration_ms,omitempty"`
	MaxTokens     int64 `json:"max_tokens,omitempty"`
	MaxCost       int64 `json:"max_cost_micro_usd,omitempty"`
	MaxDepth      int   `json:"max_depth,omitempty"`
	MaxAgents     int64 `json:"max_agents,omitempty"`

	Prompt  string            `json:"prompt" doc:"What it is told, before anything is filled in."`
	Source  string            `json:"source" doc:"Where it was read."`
	Layer   string            `json:"layer,omitempty" enum:"built-in,user,project" doc:"Whose file that is."`
	Hash    string            `json:"hash,omitempty" doc:"Names the role as it is now. Agents that began with it have it as role_hash."`
	Origins map[string]string `json:"origins,omitempty" doc:"Where each value came from. What is not named has its default."`
	Figures *RoleFigures      `json:"figures,omitempty" doc:"How it did in the last 30 days; absent if it did nothing."`
}

// ToolRule says whether a person is asked before a tool is used.
type ToolRule struct {
	Tool string `json:"tool"`
	Asks string `json:"asks" enum:"never,sometimes,always,denied" doc:"Sometimes means that it depends on what the call is about."`
}

// RoleFigures is how the runs of a role that have ended did: tasks, and turns of those who talk to
// people.
type RoleFigures struct {
	Runs      int64   `json:"runs" doc:"Tasks that ended, and turns of an agent that talks to people."`
	Succeeded float64 `json:"succeeded" doc:"The share that completed, from 0 to 1."`
	Duration  int64   `json:"median_duration_ms"`
	Cost      int64   `json:"mean_cost_micro_usd"`
	Questions float64 `json:"questions_per_run"`
}
