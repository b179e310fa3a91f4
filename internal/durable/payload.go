package durable

import (
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
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

	// Last and Started carry a run over into a new history: what its last leg said, and which children it has not heard of yet.
	Last    *LegResult `json:"last,omitempty"`
	Started []string   `json:"started,omitempty"`
}

// Lost says that the engine does not run a task that has not ended.
type Lost struct {
	Task string `json:"task"`
}

// Mode is how a leg begins.
type Mode string

// The modes.
const (
	// ModeNext goes on where the leg before ended.
	ModeNext Mode = ""
	// ModeAgain means that a leg before may have gone further than the workflow knows, or has begun what this one is to do.
	ModeAgain Mode = "again"
	// ModeDetour is ModeAgain where nobody serves the workspace now: the leg takes in what has arrived, records it and begins nothing.
	ModeDetour Mode = "detour"
)

// LegInput is what a leg starts from. All else is in the journal.
type LegInput struct {
	Whose
	Parent     string `json:"parent,omitempty"`
	Background bool   `json:"background,omitempty"`
	Width      int    `json:"width,omitempty"`
	Time       int64  `json:"time,omitempty"`
	Mode       Mode   `json:"mode,omitempty"`
	// N is the last step that the workflow knows of, and Base the last one that has a course. Both are zero in a new run. N is less than
	// zero for a sub-agent that its parent's leg carries: of that one no workflow knows.
	N    int `json:"n,omitempty"`
	Base int `json:"base,omitempty"`
	// Apart are the children that have runs of their own. All others that have not ended are carried by the leg.
	Apart []string `json:"apart,omitempty"`
	// Started are the children that the engine has started since the last leg, Ended those whose runs have ended, and Lost those
	// that somebody says the engine does not run.
	Started []string `json:"started,omitempty"`
	Ended   []End    `json:"ended,omitempty"`
	Lost    []string `json:"lost,omitempty"`
	// Tick is when the core wanted to be woken, once that time has come; zero otherwise.
	Tick int64 `json:"tick,omitempty"`
	// Long means that the history is about to grow too long.
	Long bool `json:"long,omitempty"`
	// Effects is how many local effects the leg may carry out; zero means any number.
	Effects int `json:"effects,omitempty"`
}

// End is the end of a child's run. Kind is set for one that somebody ended from outside.
type End struct {
	Task string         `json:"task"`
	Kind chat.ErrorKind `json:"kind,omitempty"`
}

// Next is what a workflow does after a leg.
type Next string

// What comes next.
const (
	// NextWait waits for mail, for children, or for the time to wake.
	NextWait Next = ""
	// NextLeg runs another leg: something is left to do.
	NextLeg Next = "leg"
	// NextIdle is NextWait of an orchestrator between two turns.
	NextIdle Next = "idle"
	// NextEnd ends the run.
	NextEnd Next = "end"
)

// LegResult is what a leg hands back: numbers and ids.
type LegResult struct {
	N    int  `json:"n"`
	Base int  `json:"base,omitempty"`
	Next Next `json:"next,omitempty"`
	// Wake is when the core wants to be woken, in milliseconds since 1970; zero means never.
	Wake int64 `json:"wake,omitempty"`
	// Start are the children to start in runs of their own that the engine is not known to have started.
	Start []Start `json:"start,omitempty"`
	// Await is how many of the children with runs of their own must end before a leg has something to do with it.
	Await int `json:"await,omitempty"`
	// Urgent means that a child which is being started is to stop as soon as it runs.
	Urgent bool `json:"urgent,omitempty"`
	// Dropped means that the leg gave up what it had begun, and nobody knows how far that came.
	Dropped bool `json:"dropped,omitempty"`
}

// Start is a child to start.
type Start struct {
	Task  string `json:"task"`
	Agent string `json:"agent"`
	// Parent is the agent that asks for it.
	Parent     string `json:"parent"`
	Background bool   `json:"background,omitempty"`
	Width      int    `json:"width,omitempty"`
	Time       int64  `json:"time,omitempty"`
}
