package wire

import "time"

// Settings is how the installation is set up, for the person who looks at it.
type Settings struct {
	Mode      string     `json:"mode" enum:"local,hosted,demo" doc:"One person's machine, a server that several share, or a scripted model."`
	Version   string     `json:"version"`
	Providers []Provider `json:"providers"`
	Tiers     []Tier     `json:"tiers"`
	Items     []Setting  `json:"items" doc:"Limits, budgets, rules and the like, in order of key."`
}

// Provider is a server of models.
type Provider struct {
	Name    string `json:"name"`
	Wire    string `json:"wire" enum:"anthropic,openai" doc:"The protocol that it speaks."`
	Address string `json:"address,omitempty" doc:"Where it is, without credentials; absent on a server that several share."`
	HasKey  bool   `json:"has_key" doc:"Whether its key can be found."`
	Layer   string `json:"layer" doc:"Where it was configured."`
}

// Tier is the model that a tier stands for.
type Tier struct {
	Tier  string `json:"tier" enum:"fast,balanced,strong"`
	Model string `json:"model,omitempty" doc:"As provider/model; absent if none is configured."`
	Layer string `json:"layer"`
}

// Setting is one setting in force.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Layer string `json:"layer" doc:"Where it came from."`
}

// FileList is some paths of a workspace.
type FileList struct {
	Items  []string `json:"items" doc:"Paths in the workspace, those whose name fits best first."`
	More   bool     `json:"more,omitempty" doc:"Whether there are others."`
	Reason string   `json:"reason,omitempty" doc:"Why there are none, where there cannot be any."`
}

// WorkspaceInfo is a folder that agents can work in.
type WorkspaceInfo struct {
	Name     string     `json:"name" doc:"What a conversation names."`
	ServedAt *time.Time `json:"served_at,omitempty" doc:"When a worker that has it was started last."`
}
