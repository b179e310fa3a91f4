package shell

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
)

// end is how the call ended. A command that did not succeed is a failed call.
func end(o sandbox.Outcome) tool.End {
	switch o.Ending {
	case sandbox.EndTimedOut:
		return tool.EndTimedOut
	case sandbox.EndLimit, sandbox.EndCancelled:
		return tool.EndFailed
	case sandbox.EndExited:
	}
	if o.Code != 0 {
		return tool.EndFailed
	}
	return tool.EndOK
}

// fact is the fact about the command.
func fact(line string, o sandbox.Outcome) tool.Command {
	c := tool.Command{Line: line, Exit: o.Code, Duration: o.Duration.Milliseconds(), Tests: count(line, o.Stdout)}
	switch o.Ending {
	case sandbox.EndTimedOut:
		c.Signal = "timed out"
	case sandbox.EndCancelled:
		c.Signal = "cancelled"
	case sandbox.EndLimit:
		c.Signal = "limit: " + o.Limit
	case sandbox.EndExited:
		if o.Signal != 0 {
			c.Signal = unix.SignalName(o.Signal)
		}
	}
	return c
}

// report is what the model reads: the output, then in words how the command ended.
func report(o sandbox.Outcome, wall time.Duration) string {
	text := strings.TrimRight(o.Stdout.String(), "\n")
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	if len(o.Replaced) > 0 {
		text += fmt.Sprintf("\n[%s: replaced from outside while it ran; the command could write it then]", strings.Join(o.Replaced, ", "))
	}
	if len(o.Linked) > 0 && o.Code != 0 {
		shown := o.Linked[:min(len(o.Linked), 3)]
		text += fmt.Sprintf("\n[%s: read-only here, because files there are hard-linked to files outside of the workspace; commands cannot "+
			"change them, and only the person can replace them by copies%s]", strings.Join(shown, ", "), more(len(o.Linked)-len(shown)))
	}
	for _, p := range o.Planted {
		text += "\n[" + planted(p) + "]"
	}
	return text + "\n[" + ending(o, wall) + "]"
}

// more says how many were left out.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more", n)
}

// planted tells of a protected path that was made while the command ran.
func planted(p sandbox.Planted) string {
	const why = "other programs run or obey what is there, so no command may make or change it"
	if p.Aside == "" {
		return p.Path + ": was changed or removed while the command ran, and could only be put back if it is a link; " + why + ": look at it before anybody uses it"
	}
	return p.Path + ": was made or changed while the command ran and lies in " + p.Aside + " now; " + why + ". A person can move it back"
}

func ending(o sandbox.Outcome, wall time.Duration) string {
	switch o.Ending {
	case sandbox.EndTimedOut:
		return fmt.Sprintf("stopped after %s, with everything it started: its time was over; what it did until then stays done", wall)
	case sandbox.EndCancelled:
		return "stopped: the call was cancelled"
	case sandbox.EndLimit:
		return "stopped: it ran into the limit on " + o.Limit
	case sandbox.EndExited:
	}
	if o.Signal != 0 {
		return fmt.Sprintf("ended by signal %d, %s", int(o.Signal), unix.SignalName(o.Signal))
	}
	return fmt.Sprintf("exit code %d", o.Code)
}
