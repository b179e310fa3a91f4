package watch

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/wire"
)

type listStreamInput struct {
	LastID string `header:"Last-Event-ID" maxLength:"64" doc:"The id of the last event that was seen."`
	After  string `query:"after" maxLength:"64" doc:"The same for those who cannot send headers."`
}

func (h *Hub) listStreamRoutes(t *route.Table) {
	route.Add(t, admission.AccessRead, huma.Operation{
		OperationID: "streamList", Method: http.MethodGet, Path: "/v1/events",
		Summary: "What changes in the list of conversations and in the inbox", Tags: []string{"events"},
		Description: "Server-sent events that tell states: each thing's last one comes, those between may not. Open the stream, and " +
			"when resync comes read the list and the inbox; it comes first unless Last-Event-ID says where to go on. Ids " +
			"mean nothing to other servers, which answer one with resync.",
		Responses: eventStream(t.Schemas(), "ListEvent", "What changes, until the reader goes.", passingSchemas(t.Schemas(),
			wire.ConversationUpdated, wire.ConversationRemoved, wire.InboxAdded, wire.InboxRemoved, wire.Resynced, wire.StreamCut)),
	}, h.streamList)
}

func (h *Hub) streamList(ctx context.Context, in *listStreamInput) (*huma.StreamResponse, error) {
	caller, last := admission.CallerOf(ctx), in.LastID
	if last == "" {
		last = in.After
	}
	who, leave, err := h.joinBoard(ctx, caller, last)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		admission.Outlast(r, func() {
			defer leave()
			h.sendList(r, w, who)
		})
	}}, nil
}

// sendList is the stream of a list from its beginning to its end.
func (h *Hub) sendList(r *http.Request, w http.ResponseWriter, who arrival) {
	out, err := newPipe(w)
	if err != nil || r.Method == http.MethodHead {
		return
	}
	first := who.missed
	if !who.known {
		bytes, err := sent(who.id, wire.Resynced, wire.Resync{Type: wire.Resynced, Seq: who.from})
		if err != nil {
			return
		}
		first = [][]byte{bytes}
	}
	if out.write(first...) == nil {
		h.pump(r.Context(), out, who.reader, who.from)
	}
}
