package apitest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

// StartPlaying starts a server with an orchestrator that goes by the words of a message: "ask"
// has it ask for a colour, "shell" wants an approval, "wait" leaves it at work, "fail" fails
// and "limit" is too much. To everything else it says: It is so.
func StartPlaying(t TB, change func(*api.Options)) *Server {
	t.Helper()
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	o := &orchestrator{}
	return Start(t, func(options *api.Options) {
		options.Bus = bus
		options.Commands = Played{Commands: Commands{Log: options.Log}, Bus: bus, Answer: o.hear, Decided: o.decided}
		if change != nil {
			change(options)
		}
	})
}

// orchestrator numbers what it does, so that no two rows are the same.
type orchestrator struct{ n atomic.Int64 }

func (o *orchestrator) next() int { return int(o.n.Add(1)) }

func (o *orchestrator) hear(s api.Said) []journal.Row {
	if s.InReplyTo != "" {
		answered := journal.QuestionAnswered{In: root, Question: s.InReplyTo, By: "user", Text: s.Text, Number: 1}
		if s.Decline {
			answered.By, answered.Text = "headless", ""
		}
		return append([]journal.Row{answered, o.goesOn()}, o.replies("You said "+s.Text)...)
	}
	rows := []journal.Row{
		o.goesOn(),
		journal.MessageAdded{In: root, Turn: o.next(), Message: message("u"+s.ID, chat.User, s.Text)},
	}
	switch n := o.next(); {
	case strings.Contains(s.Text, "ask"):
		question := fmt.Sprint("q", n)
		return append(rows, journal.QuestionAsked{In: root, Question: question, Text: "Which colour?", Options: []string{"red", "blue"}},
			journal.QuestionRelayed{In: root, Question: question}, o.waits(chat.WaitUserInput))
	case strings.Contains(s.Text, "shell"):
		return append(rows, journal.ApprovalRequested{
			In: root, Call: fmt.Sprint(n, ".0"), Tool: "shell", Hash: "h", Pattern: "rm *", Show: json.RawMessage(`{"command":"rm a"}`),
		}, o.waits(chat.WaitApproval))
	case strings.Contains(s.Text, "wait"):
		return rows
	case strings.Contains(s.Text, "fail"):
		return append(rows, o.ends(chat.StatusFailed, chat.KindServerError))
	case strings.Contains(s.Text, "limit"):
		return append(rows, o.ends(chat.StatusFailed, chat.KindBudgetExceeded))
	}
	return append(rows, o.replies("It is so.")...)
}

func (o *orchestrator) decided(d journal.ApprovalDecided) []journal.Row {
	closed, text := "denied", "It was denied."
	if d.Allow {
		closed, text = "approved", "It was allowed "+d.Scope+"."
	}
	return append([]journal.Row{journal.ApprovalClosed{In: d.In, Call: d.Call, Status: closed, By: d.By}, o.goesOn()}, o.replies(text)...)
}

func (o *orchestrator) goesOn() journal.Row {
	return journal.StatusChanged{In: root, Serial: o.next(), Status: chat.StatusRunning}
}

func (o *orchestrator) waits(why chat.WaitReason) journal.Row {
	return journal.StatusChanged{In: root, Serial: o.next(), Status: chat.StatusWaiting, Reason: why}
}

func (o *orchestrator) replies(text string) []journal.Row {
	n := o.next()
	return []journal.Row{
		journal.MessageAdded{In: root, Turn: n, Message: message(fmt.Sprint("a", n), chat.Assistant, text)}, o.ends(chat.StatusCompleted, ""),
	}
}

func (o *orchestrator) ends(status chat.Status, kind chat.ErrorKind) journal.Row {
	n := o.next()
	return journal.TurnEnded{In: root, Serial: n, Turn: n, Status: status, ErrorKind: kind}
}

func message(id string, speaker chat.Speaker, text string) chat.Message {
	return chat.Message{ID: id, Speaker: speaker, Parts: []chat.Part{{Kind: chat.PartText, Text: text}}}
}
