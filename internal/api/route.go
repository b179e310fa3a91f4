package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strconv"
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

// register adds an operation to the document and to the router. There is no other way to add one,
// so that none is without an access.
func register[In, Out any](s *Server, access Access, op huma.Operation, handle func(context.Context, *In) (*Out, error)) {
	k := kindOf[Out](access, op)
	s.describe(access, k, &op)
	huma.Register(s.huma, op, func(ctx context.Context, in *In) (*Out, error) {
		ctx, leave, err := s.begin(ctx, k)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		defer leave()
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.Explain(ctx, err)
		}
		return out, nil
	})
}

// asKind marks an operation whose kind does not follow from who may use it.
func asKind(k kind) map[string]any { return map[string]any{"kind": k} }

// kindOf is what a route asks for, by who may use it and what comes back.
func kindOf[Out any](access Access, op huma.Operation) kind {
	if k, marked := op.Metadata["kind"].(kind); marked {
		return k
	}
	if op.RequestBody != nil { // one that is not read into memory
		return kindUpload
	}
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
	promise(access, op)
	s.note(Route{Method: op.Method, Path: op.Path, Operation: op.OperationID, Access: access})
}

// promise adds how an operation may refuse, the guard before it among them, and what lets people
// in.
func promise(access Access, op *huma.Operation) {
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusForbidden, http.StatusMisdirectedRequest, http.StatusTooManyRequests,
		http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable)
	if !access.Public {
		op.Security = []map[string][]string{{"key": {}}, {"session": {}}}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusNotFound)
	}
	if op.Method != http.MethodGet {
		op.Errors = append(op.Errors, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
}

// browse adds a route that sets cookies or leads browsers on, to the document and to the router.
// The handler writes its own answers; parameters that it does not know are let through, since
// providers of identities add some.
func (s *Server) browse(access Access, op huma.Operation, handler http.HandlerFunc) {
	promise(access, &op)
	problem := s.schemas().Schema(reflect.TypeFor[Problem](), true, "")
	for _, status := range op.Errors {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: problem}},
		}
	}
	s.huma.OpenAPI().AddOperation(&op)
	s.handle(Route{Access: access, Method: op.Method, Path: op.Path, Operation: op.OperationID}, browsersKind(access), handler)
}

// browsersKind is what a route for browsers asks for: who has a session may give it up or change it
// however busy the server is.
func browsersKind(access Access) kind {
	if access.Public {
		return kindStream
	}
	return kindRelease
}

// handle adds a route to the router only.
func (s *Server) handle(route Route, k kind, handler http.HandlerFunc) {
	s.note(route)
	access := route.Access
	s.mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) {
		caller, leave, err := s.enter(access, k, r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		defer leave()
		handler(w, r.WithContext(withCaller(r.Context(), caller)))
	})
}

// admit accepts a caller who has access, if there is room.
func (s *Server) admit(access Access, k kind) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := unwrap(ctx)
		caller, leave, err := s.enter(access, k, r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		atEnd(r, leave)
		next(huma.WithContext(ctx, withArrival(withCaller(ctx.Context(), caller), leave)))
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
	leave, err := s.gate.enter(k, caller, s.loginLimiter.address(r))
	return caller, leave, err
}

// identify finds out who asks and whether they may. It notes refusals.
func (s *Server) identify(access Access, r *http.Request) (Caller, error) {
	if access.Public {
		return Caller{From: s.remote(r), Route: r.Pattern}, nil
	}
	caller, err := s.recognise(access, r)
	if err != nil {
		s.denied(caller, r, err)
	}
	return caller, err
}

func (s *Server) recognise(access Access, r *http.Request) (Caller, error) {
	seen := s.revocations.seen.Load()
	caller, err := s.lookUp(r)
	if err != nil {
		return Caller{}, err
	}
	caller.From, caller.Route = s.remote(r), r.Pattern
	if err := forged(caller, r); err != nil {
		return caller, err
	}
	if err := access.allows(caller); err != nil {
		return caller, err
	}
	s.revocations.hold(r, revocation{access: access, caller: caller, seen: seen, looked: s.options.Now()})
	return caller, nil
}

// lookUp finds out who asks. An address that has guessed too often learns nothing from guessing on
// and waits in line with its like, but a caller with a valid credential from there is admitted.
func (s *Server) lookUp(r *http.Request) (Caller, error) {
	address, now := s.loginLimiter.address(r), s.options.Now()
	refusal := s.loginLimiter.check(address, now)
	if refusal != nil {
		leave, ok := s.loginLimiter.line(r.Context())
		if !ok {
			return Caller{}, refusal
		}
		defer leave()
	}
	caller, err := s.whoIs(r)
	if err == nil || problemOf(err).Status != http.StatusUnauthorized {
		return caller, err
	}
	if refusal != nil {
		return Caller{}, refusal
	}
	if shown := r.Header.Get("Authorization") + r.Header.Get("Cookie"); shown != "" {
		s.loginLimiter.failed(address, shown, now)
	}
	return Caller{}, err
}

// whoIs asks the authenticator, which may take lookTime.
func (s *Server) whoIs(r *http.Request) (Caller, error) {
	ctx, cancel := context.WithTimeout(r.Context(), lookTime)
	defer cancel()
	return s.options.Authenticator.Identify(r.WithContext(ctx))
}

// commandHeader is a header that no page of another origin can make a browser send.
const commandHeader = "Retinue-Request"

// forged refuses what a browser may have been made to send by another page: writes without the
// header, and everything, streams among it, that the browser says a page of elsewhere asked for. A
// person may follow a link from elsewhere.
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
