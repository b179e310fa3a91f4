package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
)

// The types of what changes in the list of conversations and in the inbox.
const (
	ConversationUpdated EventType = "conversation.updated"
	ConversationRemoved EventType = "conversation.removed"
	InboxAdded          EventType = "inbox.added"
	InboxRemoved        EventType = "inbox.removed"
)

// The data of what changes.
type (
	// UpdatedLine is the state of a conversation, with how much in it waits for a person and how
	// much runs.
	UpdatedLine struct {
		Conversation Conversation `json:"conversation"`
		Waiting      int          `json:"waiting"`
		Running      int          `json:"running"`
		Last         string       `json:"last,omitempty"`
	}
	// RemovedLine names a conversation that is gone.
	RemovedLine struct {
		Conversation string `json:"conversation"`
	}
	// AddedWaiting is something that waits for a person.
	AddedWaiting struct {
		Item Waiting `json:"item"`
	}
	// RemovedWaiting names something that no longer waits. One of approval and question is there.
	RemovedWaiting struct {
		Conversation string `json:"conversation"`
		Approval     string `json:"approval,omitempty"`
		Question     string `json:"question,omitempty"`
	}
)

// listTypes are the types of the data of what changes.
var listTypes = map[EventType]reflect.Type{
	ConversationUpdated: reflect.TypeFor[UpdatedLine](), ConversationRemoved: reflect.TypeFor[RemovedLine](),
	InboxAdded: reflect.TypeFor[AddedWaiting](), InboxRemoved: reflect.TypeFor[RemovedWaiting](),
}

// Watch gives what changes in the list of conversations and in the inbox. It tells states: the last
// one of each thing comes, those between may not. When Resynced comes, and it comes first, the list
// and the inbox are to be read anew. It ends like Follow.
func (c *Client) Watch(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		last := ""
		err := c.lasting(ctx, func() request {
			return request{method: http.MethodGet, path: at("events"), last: last}
		}, func(_ context.Context, in frame) error {
			e := Event{Type: EventType(in.name), Data: json.RawMessage(in.data)}
			if t, ok := listTypes[e.Type]; ok {
				e.Data = reflect.New(t).Interface()
				if err := json.Unmarshal(in.data, e.Data); err != nil {
					return fmt.Errorf("read event: %w", err)
				}
			}
			if in.id != "" {
				last = in.id
			}
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		}, nil)
		if !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}
