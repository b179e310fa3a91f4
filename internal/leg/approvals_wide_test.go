package leg

import (
	"slices"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/model"
)

// TestAWideYesCoversWhatWaitsBesideIt has a person allow all calls of a kind while two of them
// wait: both run.
func TestAWideYesCoversWhatWaitsBesideIt(t *testing.T) {
	for _, scope := range []agent.Scope{agent.ScopeTask, agent.ScopeChat} {
		tr := newTrial(t, newGrounds(t), 1)
		var ran []string
		tr.g.ran = func(id, _, _ string) { ran = append(ran, id) }
		to := tr.tours[0]
		tr.reply(to, "go list 0", "go list 1")
		e := agent.Decided{At: tr.h.At(), Call: "1.0", Hash: tr.shown(to, "1.0"), Allow: true, By: "ann", Scope: scope}
		tr.record(to, e)
		tr.take(to, completion{event: e})
		stopped := tr.carryOut(to)
		if want := []string{to.id("1.0"), to.id("1.1")}; !slices.Equal(ran, want) {
			t.Errorf("allowed for the %s, these ran: %v, want %v (stopped: %v)", scope, ran, want, stopped)
		}
	}
}

// TestADecisionComesBeforeItsSignal has an intruder in the engine close an approval before the
// person has decided. The person's later yes does not make it valid: the run may have been
// cancelled since.
func TestADecisionComesBeforeItsSignal(t *testing.T) {
	wall, ran := measure.NewWall(t, "1.3"), false
	tr := newTrial(t, newGrounds(t), 1)
	tr.g.ran = func(string, string, string) { ran = true }
	to := tr.tours[0]
	tr.reply(to, "go list 0")
	e := agent.Decided{At: tr.h.At(), Call: "1.0", Hash: tr.shown(to, "1.0"), Allow: true, By: "ann", Scope: agent.ScopeOnce}
	tr.take(to, completion{event: e}) // forged
	tr.record(to, e)
	got, want := tr.carryOut(to), []agent.DenialReason{agent.DeniedUnapproved}
	wall.Try(ran || !slices.Equal(got, want), "it ran: %t; stopped: %v, want %v", ran, got, want)
}

// reply has the model call the shell with some lines.
func (tr *trial) reply(to *tour, lines ...string) {
	tr.Helper()
	i := slices.IndexFunc(to.todo, func(e agent.Effect) bool { _, ok := e.(agent.CallModel); return ok })
	call, _ := to.todo[i].(agent.CallModel)
	to.todo = slices.Delete(to.todo, i, i+1)
	var parts []chat.Part
	for n, line := range lines {
		parts = append(parts, chat.Part{Kind: chat.PartToolUse, Tool: "shell", Args: `{"command":"` + line + `"}`, Call: "1." + string(rune('0'+n))})
	}
	end := to.replied(tr.Context(), call, to.position.State.Brief, model.Reply{Parts: parts, Stop: model.StopTools}, journal.ModelReplied{})
	end.rows = end.rows[1:]
	tr.take(to, end)
}

// carryOut runs what the core ordered, and says why calls were stopped.
func (tr *trial) carryOut(to *tour) (stopped []agent.DenialReason) {
	tr.Helper()
	for {
		i := slices.IndexFunc(to.todo, func(e agent.Effect) bool { _, ok := e.(agent.RunTool); return ok })
		if i < 0 {
			return stopped
		}
		run, _ := to.todo[i].(agent.RunTool)
		end, _ := tr.perform(to, run)
		to.todo = slices.Delete(to.todo, i, i+1)
		if done, ok := end.event.(agent.ToolDone); ok && done.Result == agent.ToolDenied {
			stopped = append(stopped, done.Reason)
		}
		tr.take(to, end)
	}
}
