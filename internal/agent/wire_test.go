package agent_test

import (
	"reflect"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// effects has one of each kind, with every field that its kind has set to something.
var effects = []agent.Effect{
	agent.Append{Serial: 1, Turn: 2, Results: 3, Reads: []int64{4}, Notices: []string{"t"}, Cap: 5, Notes: []string{"n"}},
	agent.Settle{Call: "1.0", Status: agent.CallFailed, Text: "no", Tasks: []string{"t"}, Cap: 6, Question: "q"},
	agent.Enlist{Call: "1.0", Item: 1, Brief: agent.Brief{Agent: "a", Limits: agent.DefaultLimits()}},
	agent.EndTask{Task: "t", Outcome: agent.Outcome{Status: chat.StatusFailed}},
	agent.OpenApproval{Call: "1.0", Tool: "shell", Hash: "h", Pattern: "p", Until: 7},
	agent.CloseApproval{Call: "1.0", Status: agent.ApprovalDenied, Scope: agent.ScopeOnce, By: "ann"},
	agent.Relay{Question: "q", Agent: "a"},
	agent.CloseQuestion{Question: "q", By: agent.ByUser},
	agent.Note{Serial: 1, Kind: agent.NoteKept, Question: "q", Seq: 2},
	agent.Void{Turn: 3},
	agent.EndTurn{Serial: 1, Turn: 2, Status: chat.StatusFailed, Kind: chat.KindNetwork, Reason: "r", By: "b", Cut: true},
	agent.Grant{Call: "1.0"},
	agent.CallModel{Turn: 1, Attempt: 2, Kind: agent.TurnCompact, MaxOutput: 3, HoldTokens: 4, HoldCost: 5, Pins: []string{"t"}},
	agent.CallSide{Side: 1, Kind: agent.SideRoute, Question: "q", Seq: 2, Questions: []string{"q"}, HoldTokens: 3, HoldCost: 4},
	agent.AbortModel{Turn: 1, Attempt: 2},
	agent.RunTool{Call: "1.0", Tool: "grep", Class: chat.ClassPure, Hash: "h", Approved: true, Bound: "b", By: "1.1"},
	agent.AbortTool{Call: "1.0", Class: chat.ClassOnce},
	agent.StartChild{Task: "t", Agent: "a", Slots: 1, Time: 2, Background: true},
	agent.StopChild{Task: "t", Reason: agent.CancelUser, By: "b"},
	agent.KillChild{Task: "t"},
	agent.TellParent{Serial: 1, Reason: chat.WaitApproval},
	agent.Ask{Question: "q", Call: "1.0", Hash: "h", Relay: true, Until: 1},
	agent.WithdrawQuestion{Question: "q"},
	agent.Reply{Question: "q", Agent: "a", By: agent.ByUser, Earlier: "e", Side: 1, Call: "1.0", Seq: 2},
	agent.Correct{Question: "q", Agent: "a", Seq: 1},
	agent.Finish{Outcome: agent.Outcome{Status: chat.StatusCompleted}, Unread: []int64{1}},
}

func TestEffectsTravel(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range effects {
		body, err := agent.MarshalEffect(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := agent.UnmarshalEffect(body)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, got) {
			t.Errorf("sent %#v, got %#v", e, got)
		}
		seen[agent.EffectName(e)] = true
	}
	if len(seen) != 26 {
		t.Errorf("%d kinds of effects were sent, want all 26", len(seen))
	}
	for _, bad := range []string{`{`, `{"name":"Nothing"}`, `{"name":"Void","effect":[]}`} {
		if _, err := agent.UnmarshalEffect([]byte(bad)); err == nil {
			t.Errorf("%s was read as an effect", bad)
		}
	}
}
