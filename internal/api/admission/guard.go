package admission

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
)

// headers are on every answer.
var headers = map[string]string{
	"Cache-Control":                "no-store",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy": "accelerometer=(), autoplay=(), camera=(), display-capture=(), " +
		"geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()",
	"Referrer-Policy":        "no-referrer",
	"X-Content-Type-Options": "nosniff",
	"X-Dns-Prefetch-Control": "off",
	// No page of ours makes markup of text, so there is no maker of trusted types either.
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; " +
		"connect-src 'self'; frame-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'; report-uri " + ReportPath + "; report-to csp",
	"Reporting-Endpoints": `csp="` + ReportPath + `"`,
}

// secureHeader keeps browsers from ever asking without TLS. It is sent only where TLS is on.
const secureHeader, secureValue = "Strict-Transport-Security", "max-age=63072000; includeSubDomains"

type (
	requestKey struct{}
	lastingKey struct{}
)

// lasting is what is left of a request when all that it went through has returned.
type lasting struct {
	do    func()
	after []func()
}

// Outlast does something that takes as long as the reader stays, once everything below guard has
// returned: thousands wait like this, and the stacks would be most of what they cost.
func Outlast(r *http.Request, do func()) {
	if l, ok := r.Context().Value(lastingKey{}).(*lasting); ok {
		l.do = do
		return
	}
	do()
}

// AtEnd does something when all of a request is over, what outlasts it included.
func AtEnd(r *http.Request, do func()) {
	if l, ok := r.Context().Value(lastingKey{}).(*lasting); ok {
		l.after = append(l.after, do)
	}
}

// Handler is what every request goes through: headers, an id, the server's name, and an end for
// panics. Operation names what the pattern of a route belongs to.
func (g *Guard) Handler(next http.Handler, operation func(pattern string) string) http.Handler {
	origin := http.NewCrossOriginProtection()
	if g.options.Origin != "" {
		if err := origin.AddTrustedOrigin(g.options.Origin); err != nil {
			g.options.Logger.Error("the server's own origin is not one", "error", err)
		}
	}
	return http.HandlerFunc(func(writer http.ResponseWriter, r *http.Request) {
		began := g.options.Now()
		w := &answer{ResponseWriter: writer}
		id := g.dress(w)
		rest := &lasting{}
		r = r.WithContext(context.WithValue(context.WithValue(r.Context(), requestKey{}, id), lastingKey{}, rest))
		defer func() {
			for _, do := range rest.after {
				do()
			}
		}()
		defer func() {
			caught := recover()
			if fault, _ := caught.(error); caught != nil && !errors.Is(fault, http.ErrAbortHandler) {
				g.options.Logger.ErrorContext(r.Context(), "request panicked", "request", id, "path", r.URL.Path,
					"panic", caught, "stack", string(debug.Stack()))
				if w.status == 0 {
					g.TurnAway(w, r, errors.New("panic"))
					caught = nil
				} else {
					caught = http.ErrAbortHandler // half an answer must not look like a whole one
				}
			}
			if g.options.Answered != nil {
				g.options.Answered(operation(r.Pattern), w.status, g.options.Now().Sub(began))
			}
			if caught != nil {
				panic(caught)
			}
		}()
		if err := g.knock(r); err != nil {
			g.TurnAway(w, r, err)
			return
		}
		if err := g.suspect(r, origin); err != nil {
			g.denied(Caller{}, r, err)
			g.TurnAway(w, r, err)
			return
		}
		r, end := g.revocations.tie(r)
		defer end()
		next.ServeHTTP(w, r)
		if rest.do != nil {
			rest.do()
		}
	})
}

// dress puts on an answer what all answers have, and returns the request's id.
func (g *Guard) dress(w http.ResponseWriter) string {
	h := w.Header()
	for name, value := range headers {
		h.Set(name, value)
	}
	if g.options.Secure {
		h.Set(secureHeader, secureValue)
	}
	id := rand.Text()
	h.Set("Request-Id", id)
	return id
}

// suspect refuses what no client of ours sends: a request for another host, from another page, or
// written so that two readers could understand it differently.
func (g *Guard) suspect(r *http.Request, origin *http.CrossOriginProtection) error {
	if !g.called(r.Host) {
		return &Problem{
			Status: http.StatusMisdirectedRequest, Code: "invalid", Detail: "this server does not go by that name",
			Next: "use the address that the server was started with",
		}
	}
	for _, name := range []string{"Authorization", "Content-Type", "Content-Length", "Idempotency-Key", "Last-Event-Id", "Origin"} {
		if len(r.Header.Values(name)) > 1 {
			return &Problem{Status: http.StatusBadRequest, Code: "invalid", Detail: "the header " + name + " is there twice"}
		}
	}
	if r.URL.Host != "" || r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		return &Problem{Status: http.StatusBadRequest, Code: "invalid", Detail: "this server is no proxy"}
	}
	if strings.ContainsRune(r.URL.Path, 0) { // no id has one, and no database takes one
		return &Problem{Code: "not_found", Detail: "nothing is known under this id"}
	}
	if origin.Check(r) != nil || g.foreign(r) {
		return &Problem{
			Status: http.StatusForbidden, Code: "forbidden", Detail: "the request comes from another origin",
			Next: "send it from the server's own page, or from a program",
		}
	}
	return nil
}

// called reports whether the server goes by the name that a request is for.
func (g *Guard) called(host string) bool {
	if len(g.options.Hosts) == 0 {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return slices.Contains(g.options.Hosts, strings.ToLower(strings.Trim(host, "[]")))
}

// foreign reports whether a browser says that the request comes from a page of another origin.
// Pages may lead people here, but they may not read or make use of what is here.
func (g *Guard) foreign(r *http.Request) bool {
	if o := r.Header.Get("Origin"); o != "" && o != g.options.Origin {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Method != http.MethodGet
}

// answer remembers the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets a http.ResponseController through.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// problem makes a problem of an error, and logs what nobody else will hear of.
func (g *Guard) problem(ctx context.Context, err error) *Problem {
	p := ProblemOf(err)
	_, meant := errors.AsType[*Problem](err) // such as a refusal: who asked is told, and nobody else need be
	if p.Status >= http.StatusInternalServerError && !meant && ctx.Err() == nil {
		g.options.Logger.ErrorContext(ctx, "request failed", "request", ctx.Value(requestKey{}), "error", err)
	}
	return p
}

// TurnAway answers a request that was not admitted.
func (g *Guard) TurnAway(w http.ResponseWriter, r *http.Request, err error) {
	p := g.problem(r.Context(), err)
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="retinue"`)
	}
	if shape, ok := g.shapes[r.Pattern]; ok {
		shape(w, r, p)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(p) // who does not read it has gone
	}
}

// Refuse answers a request with what became of it, in the shape of its route.
func (g *Guard) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	g.TurnAway(w, r, g.Explain(r.Context(), err))
}

// Explain makes a problem of what a route's handler came to. It logs what nobody else will hear of,
// and notes on the trail that a caller who was admitted may not do what they asked for.
func (g *Guard) Explain(ctx context.Context, err error) *Problem {
	p := g.problem(ctx, err)
	if p.Status == http.StatusForbidden {
		g.refused(CallerOf(ctx), err)
	}
	return p
}

// Shape has the routes of a pattern refuse in a way of their own. Status and headers are its to
// write.
func (g *Guard) Shape(pattern string, refuse func(http.ResponseWriter, *http.Request, *Problem)) {
	g.shapes[pattern] = refuse
}
