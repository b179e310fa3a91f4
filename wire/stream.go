package wire

import "reflect"

// The types of what passes by in the stream of a conversation: it is not recorded.
const (
	// MessageDelta is text on its way. The MessageCompleted that follows replaces it.
	MessageDelta EventType = "message.delta"
	// Resynced comes when too much was missed to be sent. It is in the streams of lists too.
	Resynced EventType = "resync"
	// StreamCut is the server's reason for an end.
	StreamCut EventType = "stream.cut"
)

// The types of what changes in the list of conversations and in the inbox.
const (
	ConversationUpdated EventType = "conversation.updated"
	ConversationRemoved EventType = "conversation.removed"
	InboxAdded          EventType = "inbox.added"
	InboxRemoved        EventType = "inbox.removed"
)

// passingTypes are the data types of events that are not recorded.
var passingTypes = map[EventType]reflect.Type{
	MessageDelta: reflect.TypeFor[Delta](), Resynced: reflect.TypeFor[Resync](), StreamCut: reflect.TypeFor[Cut](),
	ConversationUpdated: reflect.TypeFor[UpdatedLine](), ConversationRemoved: reflect.TypeFor[RemovedLine](),
	InboxAdded: reflect.TypeFor[AddedWaiting](), InboxRemoved: reflect.TypeFor[RemovedWaiting](),
}

// UpdatedLine is the state of a conversation: one that is new, or one of the list, or one that
// is archived by now.
type UpdatedLine struct {
	Type         EventType    `json:"type" enum:"conversation.updated"`
	Conversation Conversation `json:"conversation"`
	Waiting      int          `json:"waiting" doc:"How many things in it wait for a person."`
	Running      int          `json:"running" doc:"How many of its tasks are under way and wait for nobody."`
	Last         string       `json:"last,omitempty" enum:"completed,failed,cancelled,timed_out" doc:"How the orchestrator's last turn ended."`
}

// RemovedLine is a deleted conversation.
type RemovedLine struct {
	Type         EventType `json:"type" enum:"conversation.removed"`
	Conversation string    `json:"conversation"`
}

// AddedWaiting is something that waits for a person.
type AddedWaiting struct {
	Type EventType `json:"type" enum:"inbox.added"`
	Item Waiting   `json:"item"`
}

// RemovedWaiting names something that no longer waits. One of approval and question is set.
type RemovedWaiting struct {
	Type         EventType `json:"type" enum:"inbox.removed"`
	Conversation string    `json:"conversation"`
	Approval     string    `json:"approval,omitempty"`
	Question     string    `json:"question,omitempty"`
}

// Delta is text on its way. The message.completed that follows replaces it.
type Delta struct {
	Type    EventType `json:"type" enum:"message.delta"`
	Agent   string    `json:"agent_path"`
	Message string    `json:"message"`
	Began   int64     `json:"began" doc:"When the reply was begun. A later one replaces all of an earlier one."`
	Part    int       `json:"part"`
	Kind    string    `json:"kind"`
	Tool    string    `json:"tool,omitempty"`
	Offset  int64     `json:"offset" doc:"Where the text belongs in its part, in bytes of UTF-8."`
	Text    string    `json:"text,omitempty"`
}

// Resync says that missed events cannot be sent: read the snapshot again. The stream continues
// after seq. Skip the events that a newer snapshot has already.
type Resync struct {
	Type EventType `json:"type" enum:"resync"`
	Seq  int64     `json:"seq"`
}

// Cut says why a stream ends.
type Cut struct {
	Type   EventType `json:"type" enum:"stream.cut"`
	Reason string    `json:"reason" enum:"slow,closing,deleted,refused"`
}
