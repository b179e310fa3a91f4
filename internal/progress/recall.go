package progress

import (
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// Open are the keys that Recall needs: those of the approvals and questions that wait in a
// conversation.
func Open(state journal.Snapshot) []string {
	var keys []string
	for _, q := range state.Questions {
		if q.Status == journal.QuestionStatusRelayed {
			keys = append(keys, journal.QuestionAsked{Question: q.ID}.Key())
		}
	}
	for _, a := range state.Approvals {
		if a.Status == journal.ApprovalStatusOpen {
			keys = append(keys, journal.ApprovalRequested{In: journal.In{Agent: a.Agent}, Call: a.Call}.Key())
		}
	}
	return keys
}

// Recall tells a new tree of the time before its first entry: the agents, and the approvals and
// questions that wait. The entries are those with the keys of Open.
func (t *Tree) Recall(state journal.Snapshot, open []journal.Entry) {
	tasks := map[string]journal.Task{}
	for _, task := range state.Tasks {
		tasks[task.ID] = task
	}
	for _, known := range state.Agents {
		a := t.agent(known.ID)
		a.Role, a.Status, a.Reason = known.Role, tasks[known.Task].Status, tasks[known.Task].Reason
	}
	for _, entry := range open {
		e, _ := events.Of(t.conversation, entry)
		t.person(e)
		if asked, ok := e.Data.(wire.Question); ok {
			e.Data = wire.Relayed{Question: asked.ID}
			t.person(e)
		}
	}
}
