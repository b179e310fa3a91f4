package wire_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/wire"
)

// TestParseReadsWhatWasWritten reads an event of each type that is recorded, one that passes by,
// and one of a newer server.
func TestParseReadsWhatWasWritten(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	said := wire.Event{
		Seq: 7, Type: wire.MessageCompleted, At: at, Conversation: "c", Agent: "main", Task: "main",
		Data: wire.Message{ID: "m", At: at, Speaker: "assistant", Parts: []wire.Part{{Kind: "text", Text: "Yes."}}},
	}
	for _, c := range []struct {
		of   wire.EventType
		text any
		want wire.Event
	}{
		{wire.MessageCompleted, said, said},
		{
			wire.MessageDelta,
			wire.Delta{Type: wire.MessageDelta, Agent: "main", Text: "Y"},
			wire.Event{Type: wire.MessageDelta, Data: wire.Delta{Type: wire.MessageDelta, Agent: "main", Text: "Y"}},
		},
		{
			"agent.hailed",
			wire.Event{Seq: 8, Type: "agent.hailed", Data: json.RawMessage(`{"x":1}`)},
			wire.Event{Seq: 8, Type: "agent.hailed", Data: json.RawMessage(`{"x":1}`)},
		},
	} {
		text, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.Parse(c.of, text)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.of, err, diff)
		}
	}
	for _, bad := range []string{`{`, `{"type":"turn.completed","data":{"turn":"one"}}`} {
		if e, err := wire.Parse(wire.TurnCompleted, []byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, e)
		}
	}
}

// TestMaxTextIsTheLimit compares the constant with what the document of the API is made of.
func TestMaxTextIsTheLimit(t *testing.T) {
	for _, of := range []struct {
		resource reflect.Type
		field    string
	}{{reflect.TypeFor[wire.NewMessage](), "Text"}, {reflect.TypeFor[wire.NewConversation](), "Message"}} {
		field, _ := of.resource.FieldByName(of.field)
		if got := field.Tag.Get("maxLength"); got != strconv.Itoa(wire.MaxText) {
			t.Errorf("%s.%s may have %s characters, want %d", of.resource, of.field, got, wire.MaxText)
		}
	}
}
