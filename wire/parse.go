package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Event is one thing that happened. Data has the type that belongs to Type, such as Message for
// MessageCompleted; of a type that this package does not know it is a json.RawMessage.
type Event struct {
	// Seq is zero for what is not recorded.
	Seq          int64     `json:"seq" doc:"Its place in the conversation. It grows; some numbers are no event."`
	Type         EventType `json:"type"`
	At           time.Time `json:"ts"`
	Conversation string    `json:"conversation"`
	Agent        string    `json:"agent_path,omitempty" doc:"The agent's path from the orchestrator down."`
	Task         string    `json:"task,omitempty"`
	Data         any       `json:"data"`
}

// Recorded are the types of events that are recorded, in order of name.
func Recorded() []EventType { return slices.Sorted(maps.Keys(dataTypes)) }

// DataType is the type of the data of an event, nil if this package does not know it.
func (t EventType) DataType() reflect.Type {
	if passing := passingTypes[t]; passing != nil {
		return passing
	}
	return dataTypes[t]
}

// Parse reads an event of a type as a stream sends it. What is not recorded is nothing but its
// data.
func Parse(t EventType, text []byte) (Event, error) {
	raw := json.RawMessage(text)
	e := Event{Type: t, Data: &raw}
	if passingTypes[t] == nil {
		if err := json.Unmarshal(text, &e); err != nil {
			return Event{}, fmt.Errorf("read event: %w", err)
		}
	}
	e.Data = raw
	if e.Type.DataType() == nil {
		return e, nil
	}
	data := reflect.New(e.Type.DataType())
	if err := json.Unmarshal(raw, data.Interface()); err != nil {
		return Event{}, fmt.Errorf("read event %d of type %s: %w", e.Seq, e.Type, err)
	}
	e.Data = data.Elem().Interface()
	return e, nil
}
