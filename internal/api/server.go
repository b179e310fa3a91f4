package api

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

// Options are what a server is made of.
type Options struct {
	Log      journal.Log
	Bus      live.Bus
	Door     Doorkeeper
	Commands Commands
	Roles    Catalogue
	// Redact takes secrets out of a text, as the log does; nil leaves it as it is.
	Redact func(string) string
	// Version is the program's.
	Version string
	Logger  *slog.Logger
	Now     func() time.Time
	// Poll is how often a watched conversation is looked at without being told to; zero means often
	// enough where the bus brings notices.
	Poll time.Duration
}

// Server answers requests. It keeps nothing that another server of the installation would need.
type Server struct {
	options Options
	mux     *http.ServeMux
	huma    huma.API
	routes  []Route
	handler http.Handler
	hub     *hub
	closing chan struct{}
	close   func()
}

// New makes a server with all its routes.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	ownProblems()
	config := huma.DefaultConfig("Retinue", o.Version)
	config.Info.Description = "One chat, many agents, nothing lost. Five commands write; everything else is read."
	config.CreateHooks = nil // they would add $schema to every answer
	config.DocsPath, config.SchemasPath, config.OpenAPIPath = "", "", ""
	config.RejectUnknownQueryParameters = true
	config.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key":     {Type: "http", Scheme: "bearer", Description: "An API key, or the token of a local installation."},
		"session": {Type: "apiKey", In: "cookie", Name: SessionCookie, Description: "Set by the login."},
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	closing := make(chan struct{})
	s := &Server{
		options: o, mux: http.NewServeMux(), closing: closing, close: sync.OnceFunc(func() { close(closing) }),
		hub: &hub{log: o.Log, bus: o.Bus, poll: o.Poll, taps: map[journal.Place]*tap{}},
	}
	s.huma = humago.New(s.mux, config)
	s.conversationRoutes()
	s.messageRoutes()
	s.agentRoutes()
	s.askRoutes()
	s.listRoutes()
	s.streamRoutes()
	s.documentRoutes()
	s.handler = s.guard(s.mux)
	return s
}

// defaultPoll is how often a watched conversation is looked at although no notice came.
const defaultPoll = 2 * time.Second

// Close ends all streams. Their readers come back, to this server or to another.
func (s *Server) Close() { s.close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// SessionCookie is the name of the cookie that a login sets.
const SessionCookie = "__Host-rt"

// ownProblems lets huma make problems of ours and know names by their case. It has one maker of errors
// for the whole process.
var ownProblems = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		p := &Problem{Status: status, Code: codeOf(status), Detail: message}
		for _, err := range errs {
			detail := &huma.ErrorDetail{Message: "it is not as it should be"}
			if d, ok := err.(huma.ErrorDetailer); ok {
				detail = d.ErrorDetail()
			}
			p.Errors = append(p.Errors, &huma.ErrorDetail{Message: detail.Message, Location: detail.Location})
		}
		return p.fill()
	}
})
