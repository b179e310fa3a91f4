package api

import (
	"context"
	"net/http"

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

// maxBody is how large a command may be.
const maxBody = 1 << 20

// register adds an operation to the document and to the router. There is no other way to add one, so
// that none is without an access.
func register[In, Out any](s *Server, access Access, op huma.Operation, handle func(context.Context, *In) (*Out, error)) {
	s.describe(access, &op)
	huma.Register(s.huma, op, func(ctx context.Context, in *In) (*Out, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

// describe completes an operation and notes its route.
func (s *Server) describe(access Access, op *huma.Operation) {
	op.Middlewares = append(huma.Middlewares{s.admit(access)}, op.Middlewares...)
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
	s.routes = append(s.routes, Route{Method: op.Method, Path: op.Path, Operation: op.OperationID, Access: access})
}

// handle adds a route that is not part of the document.
func (s *Server) handle(access Access, method, path string, handler http.HandlerFunc) {
	s.routes = append(s.routes, Route{Method: method, Path: path, Access: access})
	s.mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) {
		caller, err := s.identify(access, r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		handler(w, r.WithContext(withCaller(r.Context(), caller)))
	})
}

// admit lets in who has access.
func (s *Server) admit(access Access) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := unwrap(ctx)
		caller, err := s.identify(access, r)
		if err == nil {
			err = typed(r)
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		next(huma.WithContext(ctx, withCaller(ctx.Context(), caller)))
	}
}

// identify finds out who asks and whether they may.
func (s *Server) identify(access Access, r *http.Request) (Caller, error) {
	if access.Public {
		return Caller{}, nil
	}
	caller, err := s.options.Door.Identify(r)
	if err != nil {
		return Caller{}, err
	}
	if err := forged(caller, r); err != nil {
		return Caller{}, err
	}
	return caller, access.allows(caller)
}

// commandHeader is a header that no page of another origin can make a browser send.
const commandHeader = "Retinue-Request"

// forged refuses a write that a browser may have been made to send by another page.
func forged(c Caller, r *http.Request) error {
	if !c.Cookie || r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header.Get(commandHeader) != "" {
		return nil
	}
	return &Problem{
		Status: http.StatusForbidden, Code: "forbidden", Detail: "a write with a cookie needs the header " + commandHeader,
		Next: "send '" + commandHeader + ": 1'",
	}
}
