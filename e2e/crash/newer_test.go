//go:build services

package crash

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// newerEvent is the type of event that the newer build shows and the older does not know.
const newerEvent = "agent.hailed"

// newerBuild is the program as a later version may be: an agent that begins a task hails it. That
// is an event of the core, a row of the journal and an event for people that the build before does
// not know, and mail of it for the parent of a sub-agent with a run of its own. Each move of a task
// has a field more, and so has the state of an agent.
var newerBuild = mutant{Name: "newer build", Edits: []edit{
	{"agent/event.go", "	Ticked struct {\n		At\n	}\n", "	Ticked struct {\n		At\n	}\n\n	// Hailed says that somebody wishes the agent well.\n	Hailed struct {\n		At\n		Words string `json:\"words\"`\n	}\n"},
	{"agent/event.go", "func (Ticked) event()               {}\n", "func (Ticked) event()               {}\nfunc (Hailed) event()               {}\n"},
	{"agent/wire.go", "		\"Ticked\": decodeAs[Ticked],\n", "		\"Ticked\": decodeAs[Ticked], \"Hailed\": decodeAs[Hailed],\n"},
	{"agent/step.go", "		return m.ticked()\n", "		return m.ticked()\n	case Hailed:\n		m.s.Hails++\n		return nil\n"},
	{"agent/state.go", "	Serial int        `json:\"serial,omitempty\"`\n", "	Serial int        `json:\"serial,omitempty\"`\n	Hails  int        `json:\"hails,omitempty\"`\n"},
	{"journal/kind.go", "	KindGranted           Kind = \"granted\"\n", "	KindGranted           Kind = \"granted\"\n	KindHailed    Kind = \"hailed\"\n"},
	{"journal/kind.go", "func (Granted) Kind() Kind           { return KindGranted }\n", "func (Granted) Kind() Kind   { return KindGranted }\nfunc (Hailed) Kind() Kind    { return KindHailed }\n"},
	{"journal/kind.go", "		Granted{},\n", "		Granted{},\n		Hailed{},\n"},
	{"journal/kind.go", "KindGranted: decodeAs[Granted],\n", "KindGranted: decodeAs[Granted], KindHailed: decodeAs[Hailed],\n"},
	{"journal/rowkey.go", "func (r Granted) Key() string           {", "func (r Hailed) Key() string   { return \"hail/\" + r.Task }\nfunc (r Granted) Key() string  {"},
	{"journal/askrow.go", "	Granted struct {\n", "	Hailed struct {\n		In\n		Words string `json:\"words\"`\n	}\n\n	Granted struct {\n"},
	{"journal/row.go", "	StatusChanged struct {\n		In\n", "	StatusChanged struct {\n		In\n		Mood   string          `json:\"mood,omitempty\"`\n"},
	{"../wire/event.go", "	ApprovalGranted      EventType = \"approval.granted\"\n", "	ApprovalGranted      EventType = \"approval.granted\"\n	AgentHailed          EventType = \"" + newerEvent + "\"\n"},
	{"../wire/event.go", "type Granted struct {\n", "type Hailed struct {\n	Words string `json:\"words\"`\n}\n\ntype Granted struct {\n"},
	{"../wire/event.go", "ApprovalGranted: reflect.TypeFor[Granted](),\n", "ApprovalGranted: reflect.TypeFor[Granted](), AgentHailed: reflect.TypeFor[Hailed](),\n"},
	{"events/event.go", "	case journal.NoteAdded:\n", "	case journal.Hailed:\n		e.Type, e.Data = wire.AgentHailed, wire.Hailed{Words: r.Words}\n	case journal.NoteAdded:\n"},
	{"leg/leg.go", "		arrived = append(arrived, completion{event: begun})\n", `		arrived = append(arrived, completion{event: begun})
		hail := agent.Hailed{At: l.At(), Words: "Good day."}
		rows := []journal.Row{journal.Hailed{In: l.in.In(), Words: hail.Words}}
		if l.in.Parent != "" && l.in.N >= 0 {
			body, err := agent.MarshalEvent(hail)
			if err != nil {
				return err
			}
			rows = append(rows, journal.MailPosted{ID: l.in.Task + "#hail", Topic: TopicAgent, To: l.in.Parent, Event: body})
		}
		arrived = append(arrived, completion{event: hail, rows: rows})
`},
	{"leg/leg.go", "Serial: m.N, Status: m.Status, Reason: m.Reason}\n", "Serial: m.N, Status: m.Status, Reason: m.Reason, Mood: \"fine\"}\n"},
}}

// TestTheNewerBuildBuilds shows that the edits of the newer build still make a program. Without it
// only make crash/rolling would notice.
func TestTheNewerBuildBuilds(t *testing.T) {
	cmd := exec.Command("go", "build", "-overlay", newerBuild.overlay(t, t.TempDir()),
		"./internal/agent", "./internal/journal", "./internal/events", "./internal/api", "./internal/leg", "./wire") //nolint:gosec // of this repository
	cmd.Dir = repository(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the newer build does not build: %v\n%s", err, out)
	}
}

// buildNewer makes the program of the newer build.
func buildNewer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "retinue")
	cmd := exec.Command("go", "build", "-overlay", newerBuild.overlay(t, dir), "-o", binary, "./cmd/retinue") //nolint:gosec // of this repository
	cmd.Dir = repository(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the newer build does not build: %v\n%s", err, out)
	}
	return binary
}
