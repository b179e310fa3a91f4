package sim

import (
	"strconv"

	"github.com/retinue-dev/retinue/internal/agent"
)

// person does one thing that people do: talk, decide, answer, stop, at any time.
func (w *world) person() {
	at := agent.At{At: w.now}
	switch w.c.pick(14, 56, 7, 9, 6, 2, 6) {
	case 0:
		w.speak("")
	case 1:
		w.decide()
	case 2:
		w.requests++
		w.stats.Cancels++
		w.post(w.root, agent.CancelRequested{At: at, ID: "user" + strconv.Itoa(w.requests), Reason: agent.CancelUser, By: "ann"}, 0)
	case 3:
		w.stopOne()
	case 4:
		if len(w.relayed) > 0 {
			w.speak(w.relayed[w.c.n(len(w.relayed))])
		} else if a := w.root.state.Answers; len(a) > 0 {
			w.speak(a[w.c.n(len(a))].Question)
		}
	case 5:
		w.post(w.root, agent.CloseRequested{At: at, By: "ann"}, 0)
	case 6: // a tick that nobody asked for
		w.post(w.nodes[w.c.n(len(w.nodes))], agent.Ticked{At: at}, 0)
	}
}

func (w *world) speak(question string) {
	w.said++
	w.stats.Messages++
	w.post(w.root, agent.Said{At: agent.At{At: w.now}, Seq: w.said, InReplyTo: question, Tokens: int64(w.c.n(30))}, int64(w.c.n(30)))
}

// decide answers an open approval, sometimes for a version of the call that is no longer there, or
// with other arguments.
func (w *world) decide() {
	if len(w.approvals) == 0 {
		w.answer()
		return
	}
	a := w.approvals[w.c.n(len(w.approvals))]
	e := agent.Decided{
		At: agent.At{At: w.now}, Call: a.call, Hash: a.hash, Allow: !w.c.odds(30), By: "ann",
		Scope: [...]agent.Scope{agent.ScopeOnce, agent.ScopeTask, agent.ScopeChat}[w.c.pick(6, 2, 2)],
	}
	if w.c.odds(5) {
		e.Hash = "changed"
	}
	if w.c.odds(45) {
		w.edit(a, &e)
	}
	w.post(a.node, e, int64(w.c.n(20)))
}

// answer replies to a relayed question, in so many words or by name.
func (w *world) answer() {
	switch {
	case len(w.relayed) == 0:
		if w.c.odds(25) {
			w.speak("")
		}
	case w.c.odds(50):
		w.speak(w.relayed[w.c.n(len(w.relayed))])
	default:
		w.speak("")
	}
}

// stopOne cancels one task: its own agent is told, or its parent if it has not started.
func (w *world) stopOne() {
	n := w.nodes[w.c.n(len(w.nodes))]
	w.requests++
	w.stats.Cancels++
	at := agent.At{At: w.now}
	if kids := n.state.Children; len(kids) > 0 && w.c.odds(50) {
		task := n.state.Brief.Agent + "/" + kids[w.c.n(len(kids))].ID
		w.post(n, agent.ChildCancelRequested{At: at, Task: task, By: "ann"}, 0)
		return
	}
	w.post(n, agent.CancelRequested{At: at, ID: "user" + strconv.Itoa(w.requests), Reason: agent.CancelUser, By: "ann"}, 0)
}
