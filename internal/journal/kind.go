package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Kind names a type of row in the list.
type Kind string

// The kinds, one for each type of row.
const (
	KindOpened            Kind = "opened"
	KindShared            Kind = "shared"
	KindTitled            Kind = "titled"
	KindArchived          Kind = "archived"
	KindMessageReceived   Kind = "message_received"
	KindMailPosted        Kind = "mail_posted"
	KindMailDelivered     Kind = "mail_delivered"
	KindTaskAssigned      Kind = "task_assigned"
	KindStatusChanged     Kind = "status_changed"
	KindTaskEnded         Kind = "task_ended"
	KindPatchKept         Kind = "patch_kept"
	KindTurnEnded         Kind = "turn_ended"
	KindStepped           Kind = "stepped"
	KindNoteAdded         Kind = "note_added"
	KindMessageAdded      Kind = "message_added"
	KindReplyVoided       Kind = "reply_voided"
	KindModelCalled       Kind = "model_called"
	KindModelReplied      Kind = "model_replied"
	KindToolStarted       Kind = "tool_started"
	KindHostReached       Kind = "host_reached"
	KindTainted           Kind = "tainted"
	KindToolReturned      Kind = "tool_returned"
	KindQuestionAsked     Kind = "question_asked"
	KindQuestionRelayed   Kind = "question_relayed"
	KindQuestionAnswered  Kind = "question_answered"
	KindApprovalRequested Kind = "approval_requested"
	KindEditProposed      Kind = "edit_proposed"
	KindApprovalDecided   Kind = "approval_decided"
	KindApprovalClosed    Kind = "approval_closed"
	KindGranted           Kind = "granted"
)

// Kind implements Row.
func (Opened) Kind() Kind            { return KindOpened }
func (Shared) Kind() Kind            { return KindShared }
func (Titled) Kind() Kind            { return KindTitled }
func (Archived) Kind() Kind          { return KindArchived }
func (MessageReceived) Kind() Kind   { return KindMessageReceived }
func (MailPosted) Kind() Kind        { return KindMailPosted }
func (MailDelivered) Kind() Kind     { return KindMailDelivered }
func (TaskAssigned) Kind() Kind      { return KindTaskAssigned }
func (StatusChanged) Kind() Kind     { return KindStatusChanged }
func (TaskEnded) Kind() Kind         { return KindTaskEnded }
func (PatchKept) Kind() Kind         { return KindPatchKept }
func (TurnEnded) Kind() Kind         { return KindTurnEnded }
func (Stepped) Kind() Kind           { return KindStepped }
func (NoteAdded) Kind() Kind         { return KindNoteAdded }
func (MessageAdded) Kind() Kind      { return KindMessageAdded }
func (ReplyVoided) Kind() Kind       { return KindReplyVoided }
func (ModelCalled) Kind() Kind       { return KindModelCalled }
func (ModelReplied) Kind() Kind      { return KindModelReplied }
func (ToolStarted) Kind() Kind       { return KindToolStarted }
func (HostReached) Kind() Kind       { return KindHostReached }
func (Tainted) Kind() Kind           { return KindTainted }
func (ToolReturned) Kind() Kind      { return KindToolReturned }
func (QuestionAsked) Kind() Kind     { return KindQuestionAsked }
func (QuestionRelayed) Kind() Kind   { return KindQuestionRelayed }
func (QuestionAnswered) Kind() Kind  { return KindQuestionAnswered }
func (ApprovalRequested) Kind() Kind { return KindApprovalRequested }
func (EditProposed) Kind() Kind      { return KindEditProposed }
func (ApprovalDecided) Kind() Kind   { return KindApprovalDecided }
func (ApprovalClosed) Kind() Kind    { return KindApprovalClosed }
func (Granted) Kind() Kind           { return KindGranted }

// Kinds lists every kind with an empty row of it, in the order in which they are declared.
func Kinds() []Row {
	return []Row{
		Opened{},
		Shared{},
		Titled{},
		Archived{},
		MessageReceived{},
		MailPosted{},
		MailDelivered{},
		TaskAssigned{},
		StatusChanged{},
		TaskEnded{},
		PatchKept{},
		TurnEnded{},
		Stepped{},
		NoteAdded{},
		MessageAdded{},
		ReplyVoided{},
		ModelCalled{},
		ModelReplied{},
		ToolStarted{},
		HostReached{},
		Tainted{},
		ToolReturned{},
		QuestionAsked{},
		QuestionRelayed{},
		QuestionAnswered{},
		ApprovalRequested{},
		EditProposed{},
		ApprovalDecided{},
		ApprovalClosed{},
		Granted{},
	}
}

var decoders = map[Kind]func([]byte) (Row, error){
	KindOpened: decodeAs[Opened], KindShared: decodeAs[Shared], KindTitled: decodeAs[Titled], KindArchived: decodeAs[Archived],
	KindMessageReceived: decodeAs[MessageReceived], KindMailPosted: decodeAs[MailPosted], KindMailDelivered: decodeAs[MailDelivered],
	KindTaskAssigned: decodeAs[TaskAssigned], KindStatusChanged: decodeAs[StatusChanged],
	KindTaskEnded: decodeAs[TaskEnded], KindTurnEnded: decodeAs[TurnEnded],
	KindPatchKept: decodeAs[PatchKept],
	KindStepped:   decodeAs[Stepped], KindNoteAdded: decodeAs[NoteAdded], KindMessageAdded: decodeAs[MessageAdded],
	KindReplyVoided: decodeAs[ReplyVoided], KindModelCalled: decodeAs[ModelCalled],
	KindModelReplied: decodeAs[ModelReplied], KindToolStarted: decodeAs[ToolStarted],
	KindHostReached:  decodeAs[HostReached],
	KindTainted:      decodeAs[Tainted],
	KindToolReturned: decodeAs[ToolReturned], KindQuestionAsked: decodeAs[QuestionAsked], KindQuestionRelayed: decodeAs[QuestionRelayed],
	KindQuestionAnswered: decodeAs[QuestionAnswered], KindApprovalRequested: decodeAs[ApprovalRequested],
	KindEditProposed:    decodeAs[EditProposed],
	KindApprovalDecided: decodeAs[ApprovalDecided], KindApprovalClosed: decodeAs[ApprovalClosed], KindGranted: decodeAs[Granted],
}

func decodeAs[R Row](body []byte) (Row, error) {
	var row R
	err := json.Unmarshal(body, &row)
	return row, err
}

// Decode reads what Encode wrote. A kind that this build does not know is an error: Read is for
// recorded rows.
func Decode(kind Kind, body []byte) (Row, error) {
	decode, ok := decoders[kind]
	if !ok {
		return nil, fmt.Errorf("decode row: unknown kind %q", kind)
	}
	row, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("decode row of kind %s: %w", kind, err)
	}
	return row, nil
}

// Encoded is a row on its way into a store.
type Encoded struct {
	Key   string
	Kind  Kind
	Agent string
	Task  string
	Body  []byte
}

// maxID and maxBody bound what a row may carry. The code that makes a larger row cuts it.
const (
	maxID   = 500
	maxBody = 16 << 20
)

// Encode checks a row and writes it as JSON that every store takes: valid UTF-8 without NUL.
func Encode(row Row) (Encoded, error) {
	if r, newer := row.(Newer); newer {
		return Encoded{}, refused("a row of the unknown kind %.60q cannot be written", r.Of)
	}
	agent, task := row.about()
	e := Encoded{Key: row.Key(), Kind: row.Kind(), Agent: agent, Task: task}
	for _, id := range []string{e.Key, agent, task} {
		if len(id) > maxID || !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
			return e, refused("row %.60q: an id is too long or not text", e.Key)
		}
	}
	if strings.Contains(agent, "#") || strings.Contains(task, "#") {
		return e, refused("row %.60q: agent and task ids must not contain #", e.Key)
	}
	if _, about := row.(interface{ inAgent() }); about && (agent == "" || task == "") {
		return e, refused("row %.60q names no agent or no task", e.Key)
	}
	if r, ok := row.(TaskAssigned); ok && (r.Depth != chat.AgentPath(agent).Depth() || (r.Depth > 0) != (r.Parent != "")) && agent != r.Parent {
		return e, refused("row %.60q: an agent's id must name its ancestors", e.Key)
	}
	if err := callsOf(row); err != nil {
		return e, err
	}
	body, err := json.Marshal(row)
	if err != nil {
		return e, refused("row %.60q cannot be written: %v", e.Key, err)
	}
	if e.Body, err = printable(body); err != nil {
		return e, refused("row %.60q cannot be written: %v", e.Key, err)
	}
	if len(e.Body) > maxBody {
		return e, refused("row %.60q has %d bytes, more than %d: cut its text", e.Key, len(e.Body), maxBody)
	}
	return e, nil
}

func (In) inAgent() {}

// callsOf refuses a reply whose calls are not named after its turn: everything about a call is
// found by that name.
func callsOf(row Row) error {
	r, ok := row.(MessageAdded)
	if !ok {
		return nil
	}
	for _, p := range r.Message.Parts {
		turn, _, ok := chat.CallID(p.Call).Parse()
		if p.Kind == chat.PartToolUse && (!ok || turn != r.Turn) {
			return refused("row %.60q: call %.20q is not named after turn %d", row.Key(), p.Call, r.Turn)
		}
	}
	return nil
}

// printable replaces what Postgres does not store in JSON: NUL and lone surrogates.
func printable(body []byte) ([]byte, error) {
	if !bytes.Contains(body, []byte(`\u0000`)) && !bytes.Contains(body, []byte(`\ud`)) &&
		!bytes.Contains(body, []byte(`\uD`)) {
		return body, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(withoutNUL(value))
}

// Printable is a text as every store can keep it: valid UTF-8 without NUL.
func Printable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func withoutNUL(value any) any {
	switch v := value.(type) {
	case string:
		return Printable(v)
	case []any:
		for i := range v {
			v[i] = withoutNUL(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, field := range v {
			clean[Printable(name)] = withoutNUL(field)
		}
		return clean
	}
	return value
}

func refused(format string, args ...any) error {
	return &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}
