package run

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// The smallest terminal that is drawn for; on a smaller one lines are cut by the terminal.
const (
	minWidth  = 40
	minHeight = 8
	// draftLines is how many lines of the orchestrator's words are shown while it writes.
	draftLines = 4
	// roleWidth is the most that is shown of a role.
	roleWidth = 20
)

// liveView draws the agents on a terminal, in place: a line each, under their parent.
type liveView struct {
	screen output.Screen
	tree   *progress.Tree
	label  string
	size   func() (width, height int)

	writing string
	drawn   int
}

func (v *liveView) event(e progress.Event) {
	if e.Type == wire.MessageCompleted && !strings.Contains(e.Agent, "/") {
		v.writing = ""
	}
}

func (v *liveView) draft(text string) { v.writing = text }

func (v *liveView) draw(now time.Time) {
	width, height := v.size()
	v.put(v.frame(now, width, height))
}

func (v *liveView) note(text string) {
	v.put(nil)
	v.screen.Line("%s", v.screen.Paint(output.Yellow, text))
}

func (v *liveView) ask(text string) {
	v.put(nil)
	fmt.Fprint(v.screen.Out, v.screen.Paint(output.Bold, text))
}

func (v *liveView) close(summary string, now time.Time) {
	v.writing, v.label = "", ""
	width, _ := v.size()
	v.put(v.frame(now, width, 1<<20))
	v.screen.Line("%s", v.screen.Paint(output.Dim, summary))
}

// put replaces what was drawn before.
func (v *liveView) put(lines []string) {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	b.WriteString("\r\x1b[J")
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	fmt.Fprint(v.screen.Out, b.String())
	v.drawn = len(lines)
}

// frame is the whole picture, as many lines as fit.
func (v *liveView) frame(now time.Time, width, height int) []string {
	agents := v.tree.Agents()
	var out []string
	if v.label != "" {
		out = append(out, v.screen.Paint(output.Yellow, progress.Short(v.label, width-1)))
	}
	tail := v.tail(width)
	room := max(height-len(out)-len(tail)-2, 1)
	shown, hidden := fitting(agents, room)
	var c columns
	for _, a := range shown {
		c.role = max(c.role, 2*a.Depth+min(utf8.RuneCountInString(a.Role), roleWidth))
		c.money = max(c.money, len(output.Money(a.Spent())))
	}
	for _, a := range shown {
		out = append(out, v.line(a, now, c, width))
	}
	if hidden > 0 {
		out = append(out, v.screen.Paint(output.Dim, fmt.Sprintf("  … and %d %s that ended", hidden, output.Plural(hidden, "agent"))))
	}
	return append(out, tail...)
}

// fitting leaves out agents that ended, the oldest first, until the others fit.
func fitting(agents []progress.Agent, room int) (shown []progress.Agent, hidden int) {
	drop := len(agents) - room
	for _, a := range agents {
		if drop > 0 && a.Depth > 0 && a.Status.Terminal() {
			drop--
			hidden++
			continue
		}
		shown = append(shown, a)
	}
	return shown[:min(len(shown), room)], hidden + max(0, len(shown)-room)
}

// tail is the end of what the orchestrator is writing.
func (v *liveView) tail(width int) []string {
	var lines []string
	for paragraph := range strings.Lines(v.writing) {
		if strings.TrimSpace(paragraph) == "" {
			continue
		}
		for _, line := range output.Wrap(progress.Short(paragraph, len(paragraph)+1), width-5) {
			lines = append(lines, v.screen.Paint(output.Dim, "  │ "+progress.Short(line, width-5)))
		}
	}
	return lines[max(0, len(lines)-draftLines):]
}

// columns are as wide as the widest thing in them.
type columns struct{ role, money int }

// line is one agent: how it stands, who it is, how long and how much, what it was asked and does.
func (v *liveView) line(a progress.Agent, now time.Time, c columns, width int) string {
	mark, style := markOf(a)
	name := strings.Repeat("  ", a.Depth) + progress.Short(a.Role, roleWidth)
	head := fmt.Sprintf("%s  %-9s %6s %6s tok", output.Pad(name, c.role), statusOf(a), output.Seconds(elapsed(a, now)),
		output.Count(a.Usage.Input+a.Usage.Output))
	if c.money > 0 {
		head += fmt.Sprintf(" %*s", c.money, output.Money(a.Spent()))
	}
	room := width - utf8.RuneCountInString(head) - 5
	return v.screen.Paint(style, mark) + " " + head + "  " + v.about(a, room)
}

// about is what an agent was asked and what it does now.
func (v *liveView) about(a progress.Agent, room int) string {
	doing, style := a.Doing, output.Dim
	switch {
	case a.Message != "":
		doing = a.Message
	case verdict(a.Receipt) != "":
		doing, style = verdict(a.Receipt)+" · "+a.Result, verdictStyle(a.Receipt)
	case a.Status.Terminal() && a.Depth > 0:
		doing = a.Result
	case a.Status.Terminal():
		doing = ""
	}
	if a.Task == "" {
		return v.screen.Paint(output.Dim, progress.Short(doing, room))
	}
	if doing == "" {
		return progress.Short(a.Task, room)
	}
	half := max(room/2, 10)
	task := progress.Short(a.Task, half)
	rest := room - utf8.RuneCountInString(task) - 3
	if rest < 8 {
		return progress.Short(task, room)
	}
	return task + v.screen.Paint(style, " · "+progress.Short(doing, rest))
}

// markOf is one sign for how an agent stands, and its colour.
func markOf(a progress.Agent) (mark, style string) {
	switch a.Status {
	case chat.StatusQueued, chat.StatusPending:
		return "○", output.Dim
	case chat.StatusRunning:
		return "●", output.Yellow
	case chat.StatusWaiting:
		return "?", output.Yellow
	case chat.StatusCompleted:
		return "✓", output.Green
	case chat.StatusFailed, chat.StatusTimedOut:
		return "✗", output.Red
	case chat.StatusCancelled:
		return "–", output.Dim
	}
	return "○", output.Dim
}

// statusOf is the status in at most nine characters.
func statusOf(a progress.Agent) string {
	switch {
	case a.Status == chat.StatusWaiting && a.Reason == chat.WaitApproval:
		return "approval?"
	case a.Status == chat.StatusWaiting:
		return "question?"
	case a.Status == chat.StatusTimedOut:
		return "timed out"
	}
	return string(a.Status)
}

// elapsed is how long an agent has been at it.
func elapsed(a progress.Agent, now time.Time) time.Duration {
	switch {
	case a.Began.IsZero():
		return 0
	case a.Ended.IsZero():
		return max(now.Sub(a.Began), 0)
	}
	return max(a.Ended.Sub(a.Began), 0)
}
