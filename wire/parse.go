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
	// Seq is zero for an event that is not recorded.
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

// Parse reads an event of a type as a stream sends it. An event that is not recorded has only its
// data.
func Parse(t EventType, text []byte) (Event, error) {
	e := Event{Type: t}
	if passingTypes[t] == nil {
		if err := json.Unmarshal(text, &e); err != nil {
			return Event{}, fmt.Errorf("read event: %w", err)
		}
		return e, nil
	}
	err := e.read(text)
	return e, err
}

// UnmarshalJSON reads an event that was recorded, with data of the type that belongs to it.
func (e *Event) UnmarshalJSON(text []byte) error {
	type head Event
	var data json.RawMessage
	read := head(*e)
	read.Data = &data
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*e = Event(read)
	return e.read(data)
}

// read reads the data of an event.
func (e *Event) read(text json.RawMessage) error {
	e.Data = text
	if e.Type.DataType() == nil {
		return nil
	}
	data := reflect.New(e.Type.DataType())
	if err := json.Unmarshal(text, data.Interface()); err != nil {
		return fmt.Errorf("event %d of type %s: %w", e.Seq, e.Type, err)
	}
	e.Data = data.Elem().Interface()
	return nil
}
