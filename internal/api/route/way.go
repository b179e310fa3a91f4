package route

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/people"
)

// Way is one way in, with who may use it.
type Way struct {
	Method string
	Path   string
	// Operation is its name in the document; empty for what is not part of it.
	Operation string
	Access    admission.Access
}

// Ways lists every way in.
func (t *Table) Ways() []Way { return t.ways }

// note remembers a route, and what its pattern is called.
func (t *Table) note(w Way) {
	t.ways = append(t.ways, w)
	t.operations[strings.TrimSpace(w.Method+" "+w.Path)] = cmp.Or(w.Operation, w.Path)
}

// maxBody is how large a command may be.
const maxBody = 1 << 20

// Add adds an operation to the document and to the router. There is no other way to add one, so
// that none is without an access.
func Add[In, Out any](t *Table, access admission.Access, op huma.Operation, handle func(context.Context, *In) (*Out, error)) {
	k := kindOf[Out](access, op)
	t.describe(access, k, &op)
	huma.Register(t.huma, op, func(ctx context.Context, in *In) (*Out, error) {
		ctx, leave, err := t.guard.Begin(ctx, k)
		if err != nil {
			return nil, t.guard.Explain(ctx, err)
		}
		defer leave()
		out, err := handle(ctx, in)
		if err != nil {
			return nil, t.guard.Explain(ctx, err)
		}
		return out, nil
	})
}

// As marks an operation whose kind does not follow from who may use it.
func As(k admission.Kind) map[string]any { return map[string]any{"kind": k} }

// kindOf is what a route asks for, by who may use it and what comes back.
func kindOf[Out any](access admission.Access, op huma.Operation) admission.Kind {
	if k, marked := op.Metadata["kind"].(admission.Kind); marked {
		return k
	}
	if op.RequestBody != nil { // one that is not read into memory
		return admission.KindUpload
	}
	var out *Out
	if _, streams := any(out).(*huma.StreamResponse); streams {
		return admission.KindStream
	}
	if access.Scope == people.ScopeRead || access.Public {
		return admission.KindRead
	}
	return admission.KindCommand
}

// describe completes an operation and notes its way.
func (t *Table) describe(access admission.Access, k admission.Kind, op *huma.Operation) {
	op.Middlewares = append(huma.Middlewares{t.admit(access, k)}, op.Middlewares...)
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = maxBody
	}
	promise(access, op)
	t.note(Way{Method: op.Method, Path: op.Path, Operation: op.OperationID, Access: access})
}

// promise adds how an operation may refuse, the guard before it among them, and what lets people
// in.
func promise(access admission.Access, op *huma.Operation) {
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

// Browse adds a route that sets cookies or leads browsers on, to the document and to the router.
// The handler writes its own answers; parameters that it does not know are let through, since
// providers of identities add some.
func (t *Table) Browse(access admission.Access, op huma.Operation, handler http.HandlerFunc) {
	promise(access, &op)
	problem := t.Schemas().Schema(reflect.TypeFor[admission.Problem](), true, "")
	for _, status := range op.Errors {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: problem}},
		}
	}
	t.huma.OpenAPI().AddOperation(&op)
	t.Handle(Way{Access: access, Method: op.Method, Path: op.Path, Operation: op.OperationID}, browsersKind(access), handler)
}

// browsersKind is what a route for browsers asks for: who has a session may give it up or change it
// however busy the server is.
func browsersKind(access admission.Access) admission.Kind {
	if access.Public {
		return admission.KindStream
	}
	return admission.KindRelease
}

// Handle adds a route to the router only.
func (t *Table) Handle(way Way, k admission.Kind, handler http.HandlerFunc) {
	t.note(way)
	access := way.Access
	t.mux.HandleFunc(way.Method+" "+way.Path, func(w http.ResponseWriter, r *http.Request) {
		ctx, leave, err := t.guard.Enter(access, k, r)
		if err != nil {
			t.guard.TurnAway(w, r, err)
			return
		}
		defer leave()
		handler(w, r.WithContext(ctx))
	})
}

// admit accepts a caller who has access, if there is room.
func (t *Table) admit(access admission.Access, k admission.Kind) func(huma.Context, func(huma.Context)) {
	return func(c huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(c)
		ctx, leave, err := t.guard.Enter(access, k, r)
		if err != nil {
			t.guard.TurnAway(w, r, err)
			return
		}
		admission.AtEnd(r, leave)
		next(huma.WithContext(c, ctx))
	}
}
