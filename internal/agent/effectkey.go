package agent

import "strconv"

// Key implements Effect.
func (e Append) Key() string           { return "append/" + strconv.Itoa(e.Serial) }
func (e Settle) Key() string           { return "settle/" + e.Call }
func (e Enlist) Key() string           { return "enlist/" + e.Brief.Task }
func (e EndTask) Key() string          { return "end-task/" + e.Task }
func (e OpenApproval) Key() string     { return "open-approval/" + e.Call }
func (e CloseApproval) Key() string    { return "close-approval/" + e.Call }
func (e Relay) Key() string            { return "relay/" + e.Question }
func (e CloseQuestion) Key() string    { return "close-question/" + e.Question }
func (e Note) Key() string             { return "note/" + strconv.Itoa(e.Serial) }
func (e EndTurn) Key() string          { return "end-turn/" + strconv.Itoa(e.Serial) }
func (e Void) Key() string             { return "void/" + strconv.Itoa(e.Turn) }
func (e Grant) Key() string            { return "grant/" + e.Call }
func (e CallModel) Key() string        { return "model/" + attemptKey(e.Turn, e.Attempt) }
func (e CallSide) Key() string         { return "side/" + strconv.Itoa(e.Side) }
func (e AbortModel) Key() string       { return "abort-model/" + attemptKey(e.Turn, e.Attempt) }
func (e RunTool) Key() string          { return "tool/" + e.Call }
func (e AbortTool) Key() string        { return "abort-tool/" + e.Call }
func (e StartChild) Key() string       { return "start/" + e.Task }
func (e StopChild) Key() string        { return "stop/" + e.Task }
func (e KillChild) Key() string        { return "kill/" + e.Task }
func (e TellParent) Key() string       { return "tell/" + strconv.Itoa(e.Serial) }
func (e Ask) Key() string              { return "ask/" + e.Question }
func (e WithdrawQuestion) Key() string { return "withdraw/" + e.Question }
func (e Reply) Key() string            { return "reply/" + e.Question }
func (e Correct) Key() string          { return "correct/" + strconv.FormatInt(e.Seq, 10) }
func (e Finish) Key() string           { return "finish" }

func attemptKey(turn, attempt int) string {
	return strconv.Itoa(turn) + "." + strconv.Itoa(attempt)
}
