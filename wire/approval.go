package wire

import (
	"encoding/json"
	"time"
)

// Decision is a person's decision on an approval.
type Decision struct {
	Allow bool   `json:"allow"`
	Hash  string `json:"hash" minLength:"1" maxLength:"128" doc:"The approval's hash: what was shown is what is decided."`
	Scope string `json:"scope,omitempty" enum:"once,task,conversation" doc:"How far it goes; empty means once."`
	Note  string `json:"note,omitempty" maxLength:"2000" doc:"Why not; the agent is told."`
	// Args keep the numbers as they were written.
	Args map[string]json.RawMessage `json:"args,omitempty" doc:"All the arguments to run the call with instead of the agent's, of the same tool. With allow, and for once only. They are checked as the agent's were, and the agent is told."`
}

// Approval is a call that a person must allow.
type Approval struct {
	ID      string          `json:"id" doc:"Names it in its conversation."`
	Seq     int64           `json:"seq"`
	Agent   string          `json:"agent"`
	Task    string          `json:"task"`
	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Hash    string          `json:"hash" doc:"What exactly is to be approved. A decision names it."`
	Status  string          `json:"status" enum:"open,decided,approved,denied,expired,cancelled"`
	Pattern string          `json:"pattern,omitempty" doc:"What an approval may cover beside this one call."`
	Show    json.RawMessage `json:"show,omitempty" doc:"What the person is shown."`
	Sources []Source        `json:"sources,omitempty" doc:"What the agent has read that strangers may have written. If there is any, the person is asked whatever the rules say, and decides about this call only."`
	By      string          `json:"by,omitempty"`
	Allow   bool            `json:"allow,omitempty"`
	Scope   string          `json:"scope,omitempty"`
	Edited  bool            `json:"edited,omitempty" doc:"It was allowed with other arguments than the agent's."`
	Args    json.RawMessage `json:"args,omitempty" doc:"Those arguments. Lists leave them out."`
	At      time.Time       `json:"at"`
	Until   *time.Time      `json:"until,omitempty"`
}

// Source is a place that strangers write to.
type Source struct {
	Kind string `json:"kind" enum:"web,mcp,file,agent,more" doc:"More stands for those that are not listed."`
	Name string `json:"name,omitempty" doc:"A host, a server, a path or an agent."`
}
