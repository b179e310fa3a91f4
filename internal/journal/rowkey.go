package journal

import (
	"net"
	"strconv"
)

// The beginnings of keys that later rows follow.
const (
	taskPrefix    = "task/"
	requestPrefix = "request/"
)

// Key implements Row.
func (Opened) Key() string            { return "opened" }
func (Shared) Key() string            { return "shared" }
func (r Titled) Key() string          { return "title/" + r.ID }
func (Archived) Key() string          { return "archived" }
func (r MessageReceived) Key() string { return "received/" + r.ID }
func (r MailPosted) Key() string      { return "post/" + r.ID }
func (r MailDelivered) Key() string   { return "delivered/" + r.ID }
func (r TaskAssigned) Key() string    { return taskPrefix + r.Task }
func (r StatusChanged) Key() string   { return "status/" + r.Task + "#" + strconv.Itoa(r.Serial) }
func (r TaskEnded) Key() string       { return "end/" + r.Task }
func (r PatchKept) Key() string       { return "patch/" + r.Task }
func (r TurnEnded) Key() string       { return "turn-end/" + r.Task + "#" + strconv.Itoa(r.Serial) }
func (r Stepped) Key() string         { return "step/" + r.Task + "#" + strconv.Itoa(r.N) }
func (r NoteAdded) Key() string       { return "note/" + r.Task + "#" + strconv.Itoa(r.Serial) }
func (r MessageAdded) Key() string    { return "message/" + r.Agent + "#" + r.Message.ID }
func (r ReplyVoided) Key() string     { return VoidKey(r.Agent, r.Turn) }
func (r ModelCalled) Key() string     { return requestPrefix + r.Task + "#" + r.Call }
func (r ModelReplied) Key() string    { return "response/" + r.Task + "#" + r.Call }
func (r ToolStarted) Key() string {
	return "start/" + r.Agent + "#" + r.Call + "#" + strconv.Itoa(r.Attempt)
}

func (r HostReached) Key() string {
	return "reached/" + r.Agent + "#" + r.Call + "#" + net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
}
func (r Tainted) Key() string           { return "tainted/" + r.Agent }
func (r ToolReturned) Key() string      { return "result/" + r.Agent + "#" + r.Call }
func (r QuestionAsked) Key() string     { return "ask/" + r.Question }
func (r QuestionRelayed) Key() string   { return "relay/" + r.Question }
func (r QuestionAnswered) Key() string  { return "answer/" + r.Question }
func (r ApprovalRequested) Key() string { return "approval/" + r.Agent + "#" + r.Call }
func (r EditProposed) Key() string      { return "propose/" + r.Agent + "#" + r.Call + "#" + r.Edit }
func (r ApprovalDecided) Key() string   { return "decide/" + r.Agent + "#" + r.Call }
func (r ApprovalClosed) Key() string    { return "close-approval/" + r.Agent + "#" + r.Call }
func (r Granted) Key() string           { return "grant/" + HashOf(r.Tool+"\n"+r.Pattern) }

// VoidKey is the key of the row that voids a turn.
func VoidKey(agent string, turn int) string { return "void/" + agent + "#" + strconv.Itoa(turn) }

// LeaseKey is the key of the lease on a tool call. A later attempt takes it over.
func LeaseKey(agent, call string) string { return "tool/" + agent + "#" + call }
