package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Document is the description of all routes (OpenAPI 3.1), as a server of this version serves it.
func Document(version string) ([]byte, error) {
	return New(Options{Version: version}).huma.OpenAPI().MarshalJSON()
}

// documentRoutes serves the description of all other routes.
func (s *Server) documentRoutes() {
	s.describeEvents()
	document, err := s.huma.OpenAPI().MarshalJSON()
	s.handle(accessPublic, http.MethodGet, "/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(document) // who does not read it has gone
	})
	s.handle(accessPublic, "", "/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, &Problem{Code: "not_found", Detail: "there is nothing at this address", Next: "see /openapi.json for what there is"})
	})
}

// describeEvents adds what a stream sends to the document. The schemas are those of the data lines.
func (s *Server) describeEvents() {
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
	schemas.Map()["Event"] = &huma.Schema{
		OneOf: one, Description: "What happened and is recorded. Its seq is the id of the event in the stream.",
	}
	one = []*huma.Schema{{Ref: "#/components/schemas/Event"}}
	for _, passing := range []any{Delta{}, Resync{}, Cut{}} {
		one = append(one, schemas.Schema(reflect.TypeOf(passing), true, ""))
	}
	schemas.Map()["StreamData"] = &huma.Schema{
		AnyOf: one, Description: "The data of one event: an Event; for message.delta, resync and stream.cut what their names say.",
	}
	for _, item := range s.huma.OpenAPI().Paths {
		if item.Get != nil && strings.HasPrefix(item.Get.OperationID, "stream") {
			ok := item.Get.Responses["200"]
			ok.Description = "A stream of server-sent events. The schema is that of the data of each."
			ok.Content = map[string]*huma.MediaType{
				"text/event-stream": {Schema: &huma.Schema{Ref: "#/components/schemas/StreamData"}},
			}
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
