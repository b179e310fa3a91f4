package watch

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/wire"
)

// eventStream describes the answer of a route that streams: one of several events, told apart by
// their type.
func eventStream(schemas huma.Registry, name, description string, events map[wire.EventType]*huma.Schema) map[string]*huma.Response {
	schemas.Map()[name] = oneOf(events, "One event of the stream: what follows 'data:'. Its type is also in 'event:'.")
	return map[string]*huma.Response{strconv.Itoa(http.StatusOK): {
		Description: description,
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: named(name)}},
	}}
}

// oneOf describes one of several events, told apart by their type.
func oneOf(schemas map[wire.EventType]*huma.Schema, description string) *huma.Schema {
	out := &huma.Schema{
		Description:   description,
		Discriminator: &huma.Discriminator{PropertyName: "type", Mapping: map[string]string{}},
	}
	for _, t := range slices.Sorted(maps.Keys(schemas)) {
		out.OneOf = append(out.OneOf, schemas[t])
		out.Discriminator.Mapping[string(t)] = schemas[t].Ref
	}
	return out
}

func named(name string) *huma.Schema { return &huma.Schema{Ref: "#/components/schemas/" + name} }

// recordedSchemas describes every event that is recorded: the same head, and the data of its type.
func recordedSchemas(schemas huma.Registry) map[wire.EventType]*huma.Schema {
	out := map[wire.EventType]*huma.Schema{}
	for _, t := range wire.Recorded() {
		name := camel(t) + "Event"
		schema := *huma.SchemaFromType(schemas, reflect.TypeFor[wire.Event]())
		schema.Properties = maps.Clone(schema.Properties)
		schema.Properties["type"] = &huma.Schema{Type: huma.TypeString, Enum: []any{string(t)}}
		schema.Properties["data"] = schemas.Schema(t.DataType(), true, name+"Data")
		schemas.Map()[name] = &schema
		out[t] = named(name)
	}
	return out
}

// passingSchemas describes what is not recorded, by its own type.
func passingSchemas(schemas huma.Registry, passing ...wire.EventType) map[wire.EventType]*huma.Schema {
	out := map[wire.EventType]*huma.Schema{}
	for _, t := range passing {
		out[t] = schemas.Schema(t.DataType(), true, camel(t))
	}
	return out
}

// camel makes a type's name out of an event's: conversation.created becomes ConversationCreated.
func camel(t wire.EventType) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(string(t), func(r rune) bool { return r == '.' || r == '_' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
