package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

func unwrap(ctx huma.Context) (*http.Request, http.ResponseWriter) { return humago.Unwrap(ctx) }

// headers are on every answer.
var headers = map[string]string{
	"Cache-Control":                "no-store",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy": "accelerometer=(), ambient-light-sensor=(), autoplay=(), camera=(), display-capture=(), " +
		"geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()",
	"Referrer-Policy":        "no-referrer",
	"X-Content-Type-Options": "nosniff",
	"X-Dns-Prefetch-Control": "off",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; " +
		"connect-src 'self'; frame-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; " +
		"require-trusted-types-for 'script'",
}

type requestKey struct{}

// guard is what every request goes through: headers, an id, and an end for panics.
func (s *Server) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range headers {
			h.Set(name, value)
		}
		id := rand.Text()
		h.Set("Request-Id", id)
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
		defer func() {
			caught := recover()
			if caught == nil {
				return
			}
			if caught == http.ErrAbortHandler {
				panic(caught)
			}
			s.options.Logger.ErrorContext(r.Context(), "request panicked", "request", id, "path", r.URL.Path,
				"panic", caught, "stack", string(debug.Stack()))
			s.refuse(w, r, errors.New("panic"))
		}()
		if err := origin.Check(r); err != nil {
			s.refuse(w, r, &Problem{
				Status: http.StatusForbidden, Code: "forbidden", Detail: "the request comes from another origin",
				Next: "send it from the server's own page, or from a program",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// problem makes a problem of an error, and logs what nobody else will hear of.
func (s *Server) problem(ctx context.Context, err error) *Problem {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && ctx.Err() == nil {
		s.options.Logger.ErrorContext(ctx, "request failed", "request", ctx.Value(requestKey{}), "error", err)
	}
	return p
}

// refuse answers with a problem.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problem(r.Context(), err)
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="retinue"`)
	}
	if shape, ok := s.shapes[r.Pattern]; ok {
		shape(w, r, p)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(p) // who does not read it has gone
	}
}
