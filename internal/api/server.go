package api

import (
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/people"
)

// Options are what a server is made of.
type Options struct {
	Log           journal.Log
	Bus           live.Bus
	Authenticator Authenticator
	// Local is the same authenticator where everything belongs to one person; nil where people log in.
	Local    *Local
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
	Login  Login
	// RetentionDays is after how many days the installation deletes what nobody touches; zero means
	// never.
	RetentionDays int
	// Guesses limits credentials that are not valid.
	Guesses LoginLimits
	// Audit is nil where nothing leaves a trace.
	Audit Audit
	// Webhooks is nil where nobody else is told what happens.
	Webhooks Webhooks
	// App is the built web app; nil where there is none.
	App fs.FS
	// Redact takes secrets out of a text, as the log does; nil leaves it as it is.
	Redact func(string) string
	// Version is the program's.
	Version string
	Logger  *slog.Logger
	Now     func() time.Time
	// Poll is how often a watched conversation is looked at without being told to; zero means often
	// enough where the bus brings notices.
	Poll time.Duration
	// Recheck is how long a request under way goes on although its caller has lost what let it in, when
	// no notice of that comes; zero means a minute. With a notice it is a moment.
	Recheck time.Duration
	// Hosts are the names that the server goes by; a request for another is refused. None means any.
	Hosts []string
	// Origin is that of the address that people type, if it is not what requests name as their host.
	Origin string
	// Secure means that people reach the server over TLS only.
	Secure bool
	Limits Limits
	// Pressed says why nothing can be written just now and how long that may last, zero if it can; nil
	// means always.
	Pressed func(tenant string) (why string, wait time.Duration)
	// Answered and Refused are told of requests, for metrics; nil means nobody is.
	Answered func(operation string, status int, took time.Duration)
	Refused  func(Refusal)
	// Reported is told which directive of the policy a browser enforced; nil means nobody is.
	Reported func(directive string)
}

// Server answers requests. It keeps nothing that another server of the installation would need.
type Server struct {
	options Options
	mux     *http.ServeMux
	huma    huma.API
	routes  []Route
	// operations are the names of routes by their patterns.
	operations map[string]string
	// shapes are how mounted routes refuse, by their pattern.
	shapes       map[string]func(http.ResponseWriter, *http.Request, *Problem)
	handler      http.Handler
	hub          *hub
	gate         *gate
	loginLimiter *loginLimiter
	// knocks are the requests of each address.
	knocks  *allowance
	reports *reports
	// logins and returns count what an address costs that logs in: those it begins, and those it comes
	// back from that nobody began.
	logins, returns *loginLimiter
	revocations     revocations
	storage         storage
	imports         chan struct{}
	cuts            atomic.Int64
	resyncs         atomic.Int64
	closing         chan struct{}
	close           func()
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
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Recheck == 0 {
		o.Recheck = recheckEvery
	}
	closing := make(chan struct{})
	s := &Server{
		options: o, mux: http.NewServeMux(), operations: map[string]string{},
		shapes: map[string]func(http.ResponseWriter, *http.Request, *Problem){}, closing: closing, close: sync.OnceFunc(func() { close(closing) }),
		hub: newHub(o.Log, o.Bus, o.Poll, o.Logger),
		gate: &gate{
			limits: o.Limits, now: o.Now, pressed: o.Pressed, refused: o.Refused, buckets: map[string]*bucket{},
			held: map[string]int{},
		},
		loginLimiter: newGuesses(o.Guesses), logins: newGuesses(o.Guesses), returns: newGuesses(o.Guesses),
		knocks: newAllowance(o.Limits.AddressRate, burstSeconds), reports: newReports(), revocations: revocations{held: map[*revocation]struct{}{}},
		imports: make(chan struct{}, max(importsAtOnce, o.Limits.TenantUploads+1)),
	}
	s.huma = humago.New(s.mux, documentConfig(o.Version))
	s.addRoutes()
	s.handler = s.guard(s.mux)
	if o.People != nil {
		go s.watch(o.People)
	}
	return s
}

// documentConfig says how requests are read and what the document says of all routes.
func documentConfig(version string) huma.Config {
	config := huma.DefaultConfig("Retinue", version)
	config.Info.Description = "One chat, many agents, nothing lost. Commands write to conversations; everything else about them is read."
	config.CreateHooks = nil // they would add $schema to every answer
	config.DocsPath, config.SchemasPath, config.OpenAPIPath = "", "", ""
	config.RejectUnknownQueryParameters = true
	config.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key":     {Type: "http", Scheme: "bearer", Description: "An API key, or the token of a local installation."},
		"session": {Type: "apiKey", In: "cookie", Name: SessionCookie, Description: "Set by the login."},
	}
	return config
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
	s.streamRoutes()
	s.historyRoutes()
	s.listStreamRoutes()
	s.loginRoutes()
	s.browserRoutes()
	s.tenantRoutes()
	s.tenantDeletionRoutes()
	s.memberDeletionRoutes()
	s.policyRoutes()
	s.memberRoutes()
	s.keyRoutes()
	s.auditRoutes()
	s.webhookRoutes()
	s.reportRoutes()
	s.documentRoutes()
	s.webappRoutes()
}

// defaultPoll is how often a watched conversation is looked at although no notice came.
const defaultPoll = 2 * time.Second

// Close ends all streams. Their readers come back, to this server or to another.
func (s *Server) Close() { s.close() }

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
	s.hub.mu.Lock()
	taps := len(s.hub.taps)
	s.hub.mu.Unlock()
	return Counts{
		Streams: s.gate.open(), Taps: taps, Commands: int(s.gate.commands.Load()), Cut: s.cuts.Load(), Resyncs: s.resyncs.Load(),
	}
}

// SessionCookie is the name of the cookie that a login sets.
const SessionCookie = "__Host-rt"

// ownProblems lets huma make problems of ours and know names by their case. It has one maker of
// errors for the whole process.
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
	huma.DefaultArrayNullable = false // lists are empty, never null
})
