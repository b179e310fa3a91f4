package wire

import "encoding/json"

// AgentView is an agent with its tasks, whole, and how it was set up.
type AgentView struct {
	Agent
	Tasks  []TaskView  `json:"tasks"`
	Config AgentConfig `json:"config"`
}

// AgentConfig is how an agent was set up when it began.
type AgentConfig struct {
	Role    json.RawMessage   `json:"role,omitempty" doc:"The role as it was then, word for word; absent if it was not kept."`
	Current bool              `json:"current" doc:"Whether the role's files still say the same."`
	Origins map[string]string `json:"origins,omitempty" doc:"Where each value of the role came from, as far as its files still say the same. What is not named has its default."`
	Source  string            `json:"source,omitempty" doc:"The file that the role was read from, likewise."`
}

// Agent is one worker of a conversation.
type Agent struct {
	ID       string `json:"id" doc:"The path from the orchestrator down. In an address every / is written ~."`
	Parent   string `json:"parent,omitempty"`
	Depth    int    `json:"depth"`
	Role     string `json:"role"`
	RoleHash string `json:"role_hash,omitempty" doc:"The kept text of the role as it was when the agent began."`
	Task     string `json:"task" doc:"Its latest task."`
	Own      Usage  `json:"own" doc:"What its own model calls used."`
	Subtree  Usage  `json:"subtree" doc:"The same with all agents below it."`
}
