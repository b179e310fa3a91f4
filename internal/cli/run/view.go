package run

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// view shows a run while it goes on.
type view interface {
	// event tells of something that happened, draft of the orchestrator's words so far.
	event(progress.Event)
	draft(text string)
	// draw is called now and then.
	draw(now time.Time)
	// note is a line from run itself; ask is a question to the person, who then types.
	note(text string)
	ask(text string)
	// close shows the end.
	close(summary string, now time.Time)
}

// newView picks the way to show a run: for programs, on a terminal, or as plain lines.
func (e *Loop) newView() view {
	plain := &plainView{out: e.Err, began: e.Began}
	if e.Format == Stream {
		return &streamView{plainView: plain, events: json.NewEncoder(e.Out)}
	}
	file, isFile := e.Err.(*os.File)
	if e.Format == Text && isFile && output.IsTerminal(file) && os.Getenv("TERM") != "dumb" {
		label := ""
		if e.Demo {
			label = local.DemoLabel
		}
		return &liveView{screen: output.New(e.Err), tree: e.tree, label: label, size: func() (int, int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil || width < minWidth {
				return max(width, minWidth), max(height, minHeight)
			}
			return width, max(height, minHeight)
		}}
	}
	return plain
}

// plainView writes a line when something happens and never takes one back.
type plainView struct {
	out   io.Writer
	began time.Time
}

func (v *plainView) line(at time.Time, format string, args ...any) {
	fmt.Fprintf(v.out, "%7s  %s\n", output.Seconds(max(at.Sub(v.began), 0)), fmt.Sprintf(format, args...))
}

// lineWidth is how much of a text a plain line shows.
const lineWidth = 120

func (v *plainView) event(e progress.Event) {
	who := e.Agent
	if e.Role != "" && e.Role != e.Agent {
		who += " " + e.Role
	}
	switch e.Type { //nolint:exhaustive // of all else there is no line
	case wire.MessageCompleted:
		v.line(e.At, "%s: %s", who, progress.Short(e.Text, lineWidth))
	case wire.AgentSpawned:
		v.line(e.At, "%s is asked: %s", who, progress.Short(e.Text, lineWidth))
	case progress.ToolCalled:
		v.line(e.At, "%s calls %s", who, progress.Brief(e.Tool, string(e.Args)))
	case wire.ToolDenied:
		v.line(e.At, "%s: %s was denied", who, e.Tool)
	case wire.AttemptFailed:
		v.line(e.At, "%s: a model call failed: %s %s", who, e.Kind, progress.Short(e.Message, lineWidth))
	case wire.AgentCompleted:
		v.line(e.At, "%s is done: %s", who, progress.Short(e.Text, lineWidth))
		if text := verdict(e.Receipt); text != "" {
			v.line(e.At, "%s: %s", who, text)
		}
	case wire.AgentFailed, wire.AgentCancelled:
		v.line(e.At, "%s %s: %s", who, e.Status, progress.Short(strings.TrimSpace(string(e.Kind)+" "+e.Message), lineWidth))
	case wire.AgentWaiting:
		v.line(e.At, "%s waits for %s", who, strings.ReplaceAll(e.Reason, "_", " "))
	case wire.QuestionAsked:
		v.line(e.At, "%s asks: %s", who, progress.Short(e.Text, lineWidth))
	case wire.QuestionAnswered:
		v.line(e.At, "answered by %s: %s", e.By, progress.Short(e.Text, lineWidth))
	case wire.ApprovalRequested:
		v.line(e.At, "%s wants approval of %s", who, progress.Brief(e.Tool, string(e.Args)))
	case wire.ApprovalResolved, wire.ApprovalExpired:
		v.line(e.At, "%s: approval %s", who, e.Reason)
	}
}

func (*plainView) draft(string)                  {}
func (*plainView) draw(time.Time)                {}
func (v *plainView) note(s string)               { fmt.Fprintln(v.out, s) }
func (v *plainView) ask(s string)                { fmt.Fprint(v.out, s) }
func (v *plainView) close(s string, _ time.Time) { fmt.Fprintln(v.out, s) }

// streamView writes each event as JSON for programs, and notes for people beside it.
type streamView struct {
	*plainView
	events *json.Encoder
}

func (v *streamView) event(e progress.Event) {
	if err := v.events.Encode(e); err != nil {
		v.note("write JSON: " + err.Error())
	}
}

func (v *streamView) close(string, time.Time) {}
