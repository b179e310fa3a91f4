package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Route is one way in, with who may use it.
type Route struct {
	Method string
	Path   string
	// Operation is its name in the document; empty for what is not part of it.
	Operation string
	Access    Access
}

// Routes lists every way in.
func (s *Server) Routes() []Route { return s.routes }

// note remembers a route, and what its pattern is called.
func (s *Server) note(r Route) {
	s.routes = append(s.routes, r)
	s.operations[strings.TrimSpace(r.Method+" "+r.Path)] = cmp.Or(r.Operation, r.Path)
}

// maxBody is how large a command may be.
const maxBody = 1 << 20

// register adds an operation to the document and to the router. There is no other way to add one, so
// that none is without an access.
func register[In, Out any](s *Server, access Access, op huma.Operation, handle func(context.Context, *In) (*Out, error)) {
	s.describe(access, kindOf[Out](access), &op)
	huma.Register(s.huma, op, func(ctx context.Context, in *In) (*Out, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

// kindOf is what a route asks for, by who may use it and what comes back.
func kindOf[Out any](access Access) kind {
	var out *Out
	if _, streams := any(out).(*huma.StreamResponse); streams {
		return kindStream
	}
	if access.Scope == ScopeRead || access.Public {
		return kindRead
	}
	return kindCommand
}

// describe completes an operation and notes its route.
func (s *Server) describe(access Access, k kind, op *huma.Operation) {
	op.Middlewares = append(huma.Middlewares{s.admit(access, k)}, op.Middlewares...)
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = maxBody
	}
	op.Errors = []int{http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if !access.Public {
		op.Security = []map[string][]string{{"key": {}}, {"session": {}}}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
			http.StatusTooManyRequests)
	}
	if op.Method != http.MethodGet {
		op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType)
	}
	s.note(Route{Method: op.Method, Path: op.Path, Operation: op.OperationID, Access: access})
}

// handle adds a route that is not part of the document. Its answer may take as long as a stream's.
func (s *Server) handle(access Access, method, path string, handler http.HandlerFunc) {
	s.note(Route{Method: method, Path: path, Access: access})
	s.mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) {
		k := kindStream
		if access.Scope == ScopeWrite {
			k = kindLong
		}
		caller, leave, err := s.enter(access, k, r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		defer leave()
		handler(w, r.WithContext(withCaller(r.Context(), caller)))
	})
}

// admit lets in who has access, if there is room.
func (s *Server) admit(access Access, k kind) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := unwrap(ctx)
		caller, leave, err := s.enter(access, k, r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		atEnd(r, leave)
		inner := withCaller(ctx.Context(), caller)
		if k != kindStream {
			var cancel context.CancelFunc
			inner, cancel = context.WithTimeout(inner, commandTime)
			defer cancel()
		}
		next(huma.WithContext(ctx, inner))
	}
}

// enter finds out who asks, whether they may, and whether there is room.
func (s *Server) enter(access Access, k kind, r *http.Request) (Caller, func(), error) {
	caller, err := s.identify(access, r)
	if err == nil {
		err = typed(r)
	}
	if err != nil {
		return Caller{}, nil, err
	}
	if access.Public {
		return caller, func() {}, nil
	}
	leave, err := s.gate.enter(k, caller)
	return caller, leave, err
}

// identify finds out who asks and whether they may. Who may not is noted.
func (s *Server) identify(access Access, r *http.Request) (Caller, error) {
	if access.Public {
		return Caller{}, nil
	}
	caller, err := s.recognise(access, r)
	if err != nil {
		s.denied(caller, r, err)
	}
	return caller, err
}

func (s *Server) recognise(access Access, r *http.Request) (Caller, error) {
	address, now := s.guesses.address(r), s.options.Now()
	if err := s.guesses.check(address, now); err != nil {
		return Caller{}, err
	}
	seen := s.leashes.seen.Load()
	caller, err := s.options.Door.Identify(r)
	if err != nil {
		if shown := r.Header.Get("Authorization") + r.Header.Get("Cookie"); shown != "" &&
			problemOf(err).Status == http.StatusUnauthorized {
			s.guesses.failed(address, shown, now)
		}
		return Caller{}, err
	}
	if err := forged(caller, r); err != nil {
		return caller, err
	}
	if err := access.allows(caller); err != nil {
		return caller, err
	}
	s.leashes.hold(r, access, caller, seen)
	return caller, nil
}

// commandHeader is a header that no page of another origin can make a browser send.
const commandHeader = "Retinue-Request"

// forged refuses what a browser may have been made to send by another page: writes without the header,
// and everything, streams among it, that the browser says a page of elsewhere asked for. Who follows a
// link from elsewhere is let in.
func forged(c Caller, r *http.Request) error {
	site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode")
	if c.Cookie && (site == "cross-site" || site == "same-site") && mode != "navigate" {
		return &Problem{
			Status: http.StatusForbidden, Code: "forbidden", Detail: "the request comes from another origin",
			Next: "send it from the server's own page, or from a program with a key",
		}
	}
	if !c.Cookie || r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header.Get(commandHeader) != "" {
		return nil
	}
	return &Problem{
		Status: http.StatusForbidden, Code: "forbidden", Detail: "a write with a cookie needs the header " + commandHeader,
		Next: "send '" + commandHeader + ": 1'",
	}
}
