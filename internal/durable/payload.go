package durable

import (
	"encoding/json"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/journal"
)

// What crosses the engine stays well under its limits: what goes into a leg and what comes out of one
// takes no more than 16 KiB, and none of it is text.
const (
	payloadBytes = 12 << 10
	// baseBytes is the largest state that travels; a larger one is folded from the journal.
	baseBytes = 5 << 10
	// tailBytes is how much the workflow takes in before it has it recorded, and how much a leg does
	// before it returns; mailBytes is how much mail a leg is given at its start.
	tailBytes = 7 << 10
	mailBytes = 2 << 10
)

// Whose says which run of which agent is meant.
type Whose struct {
	Place journal.Place `json:"place"`
	Agent string        `json:"agent"`
	Task  string        `json:"task"`
	// Workspace is where the agent works.
	Workspace string `json:"workspace,omitempty"`
	// Tree is the tree of it whose files a call is about, empty for the workspace itself. Plant means that
	// it may have to be made first, as a copy of From.
	Tree  string `json:"tree,omitempty"`
	Plant bool   `json:"plant,omitempty"`
	From  string `json:"from,omitempty"`
}

// at is the workspace that the agent works in.
func (w Whose) at() Workspace { return Workspace{Tenant: w.Place.Tenant, Name: w.Workspace} }

func (w Whose) in() journal.In { return journal.In{Agent: w.Agent, Task: w.Task} }

// Begin is what a run is started with, and started again with when its history has grown long.
type Begin struct {
	Whose
	// Parent is the agent that this one reports to, empty for the orchestrator.
	Parent     string `json:"parent,omitempty"`
	Background bool   `json:"background,omitempty"`
	// Width and Time are what the parent lends; zero leaves what the brief says.
	Width int   `json:"width,omitempty"`
	Time  int64 `json:"time,omitempty"`
	// LegEffects is how many local effects a leg may carry out; zero means any number.
	LegEffects int `json:"leg_effects,omitempty"`

	// Apart means that signals are counted apart from what the workflow learns by itself. A run that was
	// begun before that was so counts both together until its next history.
	Apart bool `json:"apart,omitempty"`

	// Posted and Told are the numbers of the last mail of either kind.
	Posted int `json:"posted,omitempty"`
	Told   int `json:"told,omitempty"`
	// Course, Mail (what of it is to be read) and Tasks carry a run over into a new history.
	Course *course           `json:"course,omitempty"`
	Mail   []Envelope        `json:"mail,omitempty"`
	Tasks  map[string]string `json:"tasks,omitempty"`
}

// Ended is how a run ended.
type Ended struct {
	Outcome agent.Outcome `json:"outcome"`
	// Tokens estimates the report.
	Tokens int64 `json:"tokens,omitempty"`
	// Running means that the run has not ended, whoever said so.
	Running bool `json:"running,omitempty"`
}

// Lost says that the engine does not run a task that has not ended.
type Lost struct {
	Task string `json:"task"`
}

// Mail is an event on its way to an agent.
type Mail struct {
	Event json.RawMessage `json:"event"`
}

// Envelope is mail with its place in the order of arrival. Signals count upwards, what the workflow has learnt
// by itself downwards.
type Envelope struct {
	Index int             `json:"i"`
	Event json.RawMessage `json:"event"`
}

// LegInput is what a leg starts from.
type LegInput struct {
	Whose
	Width int   `json:"width,omitempty"`
	Time  int64 `json:"time,omitempty"`
	// Base is the course at some time; the steps between it and the tail are in the journal.
	Base course `json:"base"`
	// Tail are the last events that the workflow took in, up to number N; they are not recorded.
	N     int               `json:"n"`
	Tail  []json.RawMessage `json:"tail,omitempty"`
	Moves []Move            `json:"moves,omitempty"`
	// Owed is what is left to do, in order.
	Owed []json.RawMessage `json:"owed,omitempty"`
	// Mail is what has arrived and the workflow could not take in.
	Mail []Envelope `json:"mail,omitempty"`
	// More means that there is more mail than that.
	More bool `json:"more,omitempty"`
	// Again means that an earlier leg may have gone further than the workflow knows, or that it began
	// what this one is to do.
	Again bool `json:"again,omitempty"`
	// Detour means that nobody serves the workspace now: the leg only takes in and records.
	Detour  bool `json:"detour,omitempty"`
	Effects int  `json:"effects,omitempty"`
}

// LegResult is what a leg hands back.
type LegResult struct {
	// Events are those after number N of the input, all recorded.
	Events []json.RawMessage `json:"events,omitempty"`
	// Left are the keys of the effects that were not carried out.
	Left []string `json:"left,omitempty"`
	// Dropped means that some of those had begun, and nobody knows how far they came or whether they go on.
	Dropped bool `json:"dropped,omitempty"`
	// Took are the places of the mail that were taken in, or can never be.
	Took []int `json:"took,omitempty"`
	// Tokens estimates the report of a run that has ended.
	Tokens int64 `json:"tokens,omitempty"`
}

// OnceInput asks for a tool call that must not happen twice.
type OnceInput struct {
	Whose
	RoleHash string        `json:"role_hash,omitempty"`
	Run      agent.RunTool `json:"run"`
}

// CloseInput closes the books of a task whose run ended without doing so.
type CloseInput struct {
	Whose
	Outcome agent.Outcome `json:"outcome"`
	// Ask means that somebody else said so: the engine is asked first, and what runs stays.
	Ask bool `json:"ask,omitempty"`
}
