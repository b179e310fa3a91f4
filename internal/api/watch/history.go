package watch

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/wire"
)

type (
	historyInput struct {
		route.InConversation
		After int64 `query:"after" minimum:"0" doc:"The seq of the page before; zero begins with the first event."`
		Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"500" doc:"How many entries a page covers at most."`
	}
	historyOutput struct{ Body wire.History }
)

func (h *Hub) historyRoutes(t *route.Table) {
	route.Add(t, admission.AccessRead, huma.Operation{
		OperationID: "getHistory", Method: http.MethodGet, Path: "/v1/conversations/{conversation}/history",
		Summary: "What was recorded in a conversation, in pages", Tags: []string{"events"},
		Description: "The recorded events of the stream, for a reader that wants all of them or does not keep a connection open. " +
			"Some entries are no event, so a page may have fewer events than its limit.",
	}, h.history)
	schemas := t.Schemas().Map()
	schemas["RecordedEvent"] = oneOf(recordedSchemas(t.Schemas()), "One event that was recorded.")
	schemas["History"].Properties["events"].Items = named("RecordedEvent")
}

func (h *Hub) history(ctx context.Context, in *historyInput) (*historyOutput, error) {
	ref := in.Place(ctx)
	if err := h.exists(ctx, ref); err != nil {
		return nil, err
	}
	entries, err := h.log.Entries(ctx, ref, in.After, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := wire.History{Events: []wire.Event{}, Seq: in.After, More: len(entries) > in.Limit}
	for _, entry := range entries[:min(len(entries), in.Limit)] {
		out.Seq = entry.Seq
		if e, ok := events.Of(ref.Conversation, entry); ok {
			out.Events = append(out.Events, e)
		}
	}
	return &historyOutput{Body: out}, nil
}
