package leg

import (
	"github.com/retinue-dev/retinue/internal/host"
)

// Begin is the input of a run, also when it starts again because its history has grown long.
type Begin struct {
	host.RunRef
	// Parent is the agent that this one reports to, empty for the orchestrator.
	Parent     string `json:"parent,omitempty"`
	Background bool   `json:"background,omitempty"`
	// Slots and Time are lent by the parent; zero leaves the brief's values.
	Slots int   `json:"slots,omitempty"`
	Time  int64 `json:"time,omitempty"`
	// LegEffects is how many local effects a leg may carry out; zero means any number.
	LegEffects int `json:"leg_effects,omitempty"`

	// Last carries a run over into a new history. It is the result of its last leg.
	Last *Result `json:"last,omitempty"`
}

// Mode is how a leg begins.
type Mode string

// The modes.
const (
	// ModeNext continues where the leg before ended.
	ModeNext Mode = ""
	// ModeAgain means that an earlier leg may be further than the workflow knows, or has begun this
	// leg's effects.
	ModeAgain Mode = "again"
	// ModeDetour is ModeAgain while no worker serves the workspace: the leg handles the mail that
	// has arrived, records it and begins nothing.
	ModeDetour Mode = "detour"
)

// Input is the input of a leg. All else is in the journal.
type Input struct {
	host.RunRef
	Parent     string `json:"parent,omitempty"`
	Background bool   `json:"background,omitempty"`
	Slots      int    `json:"slots,omitempty"`
	Time       int64  `json:"time,omitempty"`
	Mode       Mode   `json:"mode,omitempty"`
	// N is the last step that the workflow knows of, and Base the last one that has a state. Both are
	// zero in a new run. N is less than zero for a sub-agent that its parent's leg carries: of that one
	// no workflow knows.
	N    int `json:"n,omitempty"`
	Base int `json:"base,omitempty"`
	// Check means that children with runs of their own may be lost: the leg has the engine run those
	// that have not ended.
	Check bool `json:"check,omitempty"`
	// Queue is where children's workflows are carried out.
	Queue string `json:"queue,omitempty"`
	// Tick is when the core wanted to be woken, once that time has come; zero otherwise.
	Tick int64 `json:"tick,omitempty"`
	// Long means that the history is about to grow too long.
	Long bool `json:"long,omitempty"`
	// Effects is how many local effects the leg may carry out; zero means any number.
	Effects int `json:"effects,omitempty"`
}

// Next is the workflow's next action after a leg.
type Next string

// The values of Next.
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

// Result is the result of a leg: numbers and ids.
type Result struct {
	N    int  `json:"n"`
	Base int  `json:"base,omitempty"`
	Next Next `json:"next,omitempty"`
	// Wake is when the core wants to be woken, in milliseconds since 1970; zero means never.
	Wake int64 `json:"wake,omitempty"`
	// Await is how many of the children with runs of their own must end before a leg has something to
	// do with it. While it is not zero somebody looks now and then whether the engine still runs them.
	Await int `json:"await,omitempty"`
	// Dropped means that the leg gave up effects that it had begun, whose progress is unknown.
	Dropped bool `json:"dropped,omitempty"`
}

// BrokenRun is the record of a run that cannot continue.
type BrokenRun struct {
	host.RunRef
	Parent     string `json:"parent,omitempty"`
	Background bool   `json:"background,omitempty"`
	// N is the last step that the workflow knows of.
	N int `json:"n,omitempty"`
}
