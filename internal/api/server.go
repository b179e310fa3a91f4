package api

import (
	"io/fs"
	"net/http"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admin"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/export"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/api/watch"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/people"
)

// Options are what a server is made of: those of its guard, and what its routes need.
type Options struct {
	admission.Options
	Log journal.Log
	Bus live.Bus
	// Local is the authenticator where everything belongs to one person; nil where people log in.
	Local    *identity.Local
	Commands Commands
	Roles    Catalogue
	// Budget is what a tenant may spend in a month, in millionths of a US dollar; zero, like no
	// function, means any amount.
	Budget func(tenant string) int64
	// Storage is how many bytes the conversations of a tenant may hold; zero, like no function, means
	// any number. TenantSlots is how many of its agents a worker runs at the same time; zero means any
	// number.
	Storage     func(tenant string) int64
	TenantSlots int
	// Installation is nil where a server tells nothing of itself.
	Installation Installation
	// People are those who share an installation, and Login is how they log in; on one person's machine
	// there is neither.
	People people.Store
	Login  identity.Login
	// RetentionDays is after how many days the installation deletes what nobody touches; zero means
	// never.
	RetentionDays int
	// Trail is where the audit trail is read; nil where nothing leaves a trace.
	Trail admin.Trail
	// Webhooks is nil where nobody else is told what happens.
	Webhooks admin.Webhooks
	// App is the built web app; nil where there is none.
	App fs.FS
	// Redact takes secrets out of a text, as the log does; nil leaves it as it is.
	Redact func(string) string
	// Version is the program's.
	Version string
	// Poll is how often a watched conversation is looked at without being told to; zero means often
	// enough where the bus brings notices.
	Poll time.Duration
}

// Server answers requests. It keeps nothing that another server of the installation would need.
type Server struct {
	options  Options
	guard    *admission.Guard
	table    *route.Table
	hub      *watch.Hub
	handler  http.Handler
	identity *identity.Service
	admin    *admin.Service
	export   *export.Service
	storage  storage
}

// New makes a server with all its routes.
func New(o Options) *Server {
	o.Options = o.Filled()
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.People != nil {
		o.Credentials = o.People
	}
	guard := admission.New(o.Options)
	s := &Server{
		options: o, guard: guard, table: route.New(o.Version, guard),
		hub:      watch.New(watch.Options{Log: o.Log, Bus: o.Bus, Poll: o.Poll, Logger: o.Logger, Closing: guard.Closing()}),
		identity: identity.New(identity.Options{Guard: guard, People: o.People, Login: o.Login, Local: o.Local, Guesses: o.Guesses, Secure: o.Secure, Now: o.Now}),
	}
	s.admin = admin.New(admin.Options{
		Guard: guard, Identity: s.identity, Log: o.Log, Delete: s.erase, People: o.People, RetentionDays: o.RetentionDays, Trail: o.Trail,
		Webhooks: o.Webhooks, Now: o.Now,
	})
	s.export = export.New(export.Options{Guard: guard, Log: o.Log, Room: s.room, Now: o.Now, TenantUploads: o.Limits.TenantUploads})
	s.addRoutes()
	s.handler = guard.Handler(s.table, s.table.Operation)
	return s
}

// addRoutes adds all routes.
func (s *Server) addRoutes() {
	s.conversationRoutes()
	s.visibilityRoutes()
	s.messageRoutes()
	s.agentRoutes()
	s.taskRoutes()
	s.settingsRoutes()
	s.quotaRoutes()
	s.workspaceRoutes()
	s.askRoutes()
	s.listRoutes()
	s.export.Routes(s.table)
	s.hub.Routes(s.table)
	s.identity.Routes(s.table)
	s.admin.Routes(s.table)
	s.reportRoutes()
	s.documentRoutes()
	s.webappRoutes()
}

// reportRoutes adds where browsers say what the policy kept a page from.
func (s *Server) reportRoutes() {
	way := route.Way{Access: admission.AccessPublic, Method: http.MethodPost, Path: admission.ReportPath}
	s.table.Handle(way, admission.KindStream, s.guard.TakeReport)
}

// Guard is what every request goes through.
func (s *Server) Guard() *admission.Guard { return s.guard }

// Table is all routes.
func (s *Server) Table() *route.Table { return s.table }

// Close ends all streams. Their readers come back, to this server or to another.
func (s *Server) Close() { s.guard.Close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Counts says what a server is busy with.
type Counts struct {
	// Streams, Taps and Commands are there now: open streams, conversations that are watched, and
	// commands under way.
	Streams, Taps, Commands int
	// Cut and Resyncs were so far: streams that ended because their reader was slow, and readers that
	// were too far behind.
	Cut, Resyncs int64
}

// Counts says what the server is busy with.
func (s *Server) Counts() Counts {
	return Counts{
		Streams: s.guard.Streams(), Taps: s.hub.Taps(), Commands: s.guard.Commands(), Cut: s.hub.Cut(), Resyncs: s.hub.Resyncs(),
	}
}
