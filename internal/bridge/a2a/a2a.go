// Package a2a lets other agents hand work to the orchestrator over the A2A protocol, with the
// protocol's own SDK: an agent card, and JSON-RPC in the versions 1.0 and 0.3. A context is a
// conversation, a task a user turn of package bridge.
//
// It keeps nothing. It imports api, bridge, chat and progress.
package a2a

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/bridge"
)

// Where the endpoints are.
const (
	Path    = "/a2a"
	PathOld = "/a2a/v0.3"
	// PathOldCard is the card as version 0.3 reads it.
	PathOldCard = "/.well-known/agent.json"
)

const (
	// maxBody is how large a request may be.
	maxBody = 1 << 20
	// beatEvery is how often a quiet stream shows that it is alive.
	beatEvery = 15 * time.Second
)

// Options are the contents of the card beside the roles.
type Options struct {
	// URL is where the server is found from outside; empty means where the request found it.
	URL     string
	Version string
}

// wire speaks A2A.
type wire struct {
	*bridge.Service
	options Options
}

// Mount adds the routes to the service's server.
func Mount(h *bridge.Service, o Options) {
	w := wire{Service: h, options: o}
	alive := a2asrv.WithTransportKeepAlive(beatEvery)
	for _, m := range []api.Mounted{
		{Access: admission.AccessPublic, Method: http.MethodGet, Path: a2asrv.WellKnownAgentCardPath, Handle: w.card(plain)},
		{Access: admission.AccessPublic, Method: http.MethodGet, Path: PathOldCard, Handle: w.card(a2av0.NewAgentCardProducer)},
		{Access: admission.AccessCommand, Method: http.MethodPost, Path: Path, Handle: w.rpc(a2asrv.NewJSONRPCHandler(w, alive))},
		{Access: admission.AccessCommand, Method: http.MethodPost, Path: PathOld, Handle: w.rpc(a2av0.NewJSONRPCHandler(w, alive))},
	} {
		h.Server.Mount(m)
	}
}

// rpc reads a request before the SDK does, since an answer may be long in coming and a request not.
func (w wire) rpc(next http.Handler) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		err := bridge.Allowed(r.Context())
		var body []byte
		if err == nil {
			if body, err = io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody)); err != nil {
				err = &admission.Problem{
					Status: http.StatusRequestEntityTooLarge, Code: "invalid", Detail: "the request is too large, or did not come",
				}
			}
		}
		if err == nil {
			err = admission.CheckJSON(body)
		}
		var out *bridge.Patient
		if err == nil {
			out, err = bridge.NewPatient(rw)
		}
		if err != nil {
			w.Server.Guard().Refuse(rw, r, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(out, r)
	}
}

// plain leaves a card as it is.
func plain(p a2asrv.AgentCardProducer) a2asrv.AgentCardProducer { return p }

// card describes the service to everyone, without anybody's data. It follows one version of the
// protocol: no document suits the clients of both.
func (w wire) card(write func(a2asrv.AgentCardProducer) a2asrv.AgentCardProducer) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		speakers, err := w.Cast.Speakers(r.Context(), "")
		if err != nil {
			w.Server.Guard().Refuse(rw, r, err)
			return
		}
		producer := a2asrv.AgentCardProducerFn(func(context.Context) (*a2a.AgentCard, error) {
			return w.describe(speakers, w.base(r)), nil
		})
		a2asrv.NewAgentCardHandler(write(producer)).ServeHTTP(rw, r)
	}
}

// base is where the server is found.
func (w wire) base(r *http.Request) string {
	switch {
	case w.options.URL != "":
		return w.options.URL
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (w wire) describe(speakers []bridge.Speaker, base string) *a2a.AgentCard {
	const key = "key"
	text := []string{"text/plain", "application/json"}
	card := &a2a.AgentCard{
		Name:        "Retinue",
		Description: "One orchestrator that hands work to many agents. It asks when it must, and says what waits for approval.",
		Version:     w.options.Version,
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+Path, a2a.TransportProtocolJSONRPC),
			{URL: base + PathOld, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2av0.Version},
		},
		Capabilities:      a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: text, DefaultOutputModes: text,
		SecuritySchemes: a2a.NamedSecuritySchemes{
			key: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "An API key, or the token of a local installation."},
		},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{key: {}}},
		Skills:               []a2a.AgentSkill{},
	}
	for _, s := range speakers {
		skill := a2a.AgentSkill{ID: s.Name, Name: s.Title, Description: s.Description, Tags: []string{"role"}}
		if skill.Name == "" {
			skill.Name = s.Name
		}
		card.Skills = append(card.Skills, skill)
	}
	return card
}
