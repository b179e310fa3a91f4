package api

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// describeEvents adds what streams send to the document, where it does not say so yet. The schemas
// are those of the data lines.
func (s *Server) describeEvents() {
	var streams []*huma.Response
	for _, item := range s.huma.OpenAPI().Paths {
		if item.Get != nil && strings.HasPrefix(item.Get.OperationID, "stream") && len(item.Get.Responses["200"].Content) == 0 {
			streams = append(streams, item.Get.Responses["200"])
		}
	}
	if len(streams) == 0 {
		return
	}
	schemas := s.huma.OpenAPI().Components.Schemas
	event := huma.SchemaFromType(schemas, reflect.TypeFor[Event]())
	types := make([]EventType, 0, len(eventData))
	for name := range eventData {
		types = append(types, name)
	}
	slices.Sort(types)
	var one []*huma.Schema
	for _, name := range types {
		properties := map[string]*huma.Schema{}
		for field, schema := range event.Properties {
			properties[field] = schema
		}
		properties["type"] = &huma.Schema{Type: huma.TypeString, Enum: []any{string(name)}}
		properties["data"] = schemas.Schema(reflect.TypeOf(eventData[name]), true, "")
		title := eventTitle(name)
		schemas.Map()[title] = &huma.Schema{
			Type: huma.TypeObject, Properties: properties, Required: event.Required, AdditionalProperties: false,
		}
		one = append(one, &huma.Schema{Ref: "#/components/schemas/" + title})
	}
	for _, passing := range []any{Delta{}, Resync{}, Cut{}} {
		one = append(one, schemas.Schema(reflect.TypeOf(passing), true, ""))
	}
	schemas.Map()["StreamEvent"] = &huma.Schema{
		OneOf: one, Description: "The data of one event. What has a seq and a type is recorded, and its seq is its id.",
	}
	for _, ok := range streams {
		ok.Description = "A stream of server-sent events. The schema is that of the data of each."
		ok.Content = map[string]*huma.MediaType{
			"text/event-stream": {Schema: &huma.Schema{Ref: "#/components/schemas/StreamEvent"}},
		}
	}
}

// eventTitle is the name of an event's schema: agent.spawned is AgentSpawnedEvent.
func eventTitle(name EventType) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(string(name), func(r rune) bool { return r == '.' || r == '_' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String() + "Event"
}
