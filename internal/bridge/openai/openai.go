// Package openai lets programs made for OpenAI's API talk to the orchestrator: Chat Completions,
// Responses and the list of models. A model is a role that talks to people.
//
// It knows only the wire: a request and its answer are a user turn of package bridge. It imports
// api, bridge, chat and progress.
package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/bridge"
)

// ConversationHeader names the conversation of a request, and of an answer.
const ConversationHeader = "Retinue-Conversation"

const (
	// family is the name of the model that is the orchestrator, and begins the names of all others.
	family   = "retinue"
	mainRole = "main"
	// maxBody is how large a request may be. A transcript comes with each.
	maxBody = 4 << 20
)

// routes speaks OpenAI's API.
type routes struct{ *bridge.Service }

// Mount adds the routes to the service's server.
func Mount(h *bridge.Service) {
	w := routes{h}
	for _, m := range []api.Mounted{
		{Access: admission.AccessCommand, Method: http.MethodPost, Path: "/v1/chat/completions", Handle: w.chat},
		{Access: admission.AccessCommand, Method: http.MethodPost, Path: "/v1/responses", Handle: w.respond},
		{Access: admission.AccessRead, Method: http.MethodGet, Path: "/v1/responses/{response}", Handle: w.retrieve},
		{Access: admission.AccessCommand, Method: http.MethodPost, Path: "/v1/responses/{response}/cancel", Handle: w.cancel},
		{Access: admission.AccessRead, Method: http.MethodGet, Path: "/v1/models", Handle: w.models},
		{Access: admission.AccessRead, Method: http.MethodGet, Path: "/v1/models/{model...}", Handle: w.model},
	} {
		m.Refuse = refuse
		h.Server.Mount(m)
	}
}

// model is a role as a model.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// Description is not OpenAI's.
	Description string `json:"description,omitempty"`
}

func (w routes) list(ctx context.Context) ([]model, error) {
	speakers, err := w.Cast.Speakers(ctx, "")
	if err != nil {
		return nil, err
	}
	out := make([]model, 0, len(speakers))
	for _, s := range speakers {
		id := family
		if s.Name != mainRole {
			id += "/" + s.Name
		}
		out = append(out, model{ID: id, Object: "model", OwnedBy: family, Description: s.Description})
	}
	return out, nil
}

func (w routes) models(rw http.ResponseWriter, r *http.Request) {
	list, err := w.list(r.Context())
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	send(rw, http.StatusOK, struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", list})
}

func (w routes) model(rw http.ResponseWriter, r *http.Request) {
	list, err := w.list(r.Context())
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	for _, m := range list {
		if m.ID == r.PathValue("model") || m.ID == family && r.PathValue("model") == family+"/"+mainRole {
			send(rw, http.StatusOK, m)
			return
		}
	}
	w.Server.Guard().Refuse(rw, r, noModel(r.PathValue("model")))
}

// role is the role that a model's name means.
func (w routes) role(ctx context.Context, name, workspace string) (string, error) {
	if name == family {
		return mainRole, nil
	}
	role, ok := strings.CutPrefix(name, family+"/")
	if !ok {
		return "", noModel(name)
	}
	speakers, err := w.Cast.Speakers(ctx, workspace)
	if err != nil {
		return "", err
	}
	for _, s := range speakers {
		if s.Name == role {
			return role, nil
		}
	}
	return "", noModel(name)
}

func noModel(name string) error {
	return &admission.Problem{
		Status: http.StatusNotFound, Code: codeNoModel, Detail: "there is no model " + name,
		Next: "use " + family + ", or one of GET /v1/models",
	}
}
