package api

import (
	"net/http"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
)

// Document is the description of all routes (OpenAPI 3.1), as a server of this version serves it.
func Document(version string) ([]byte, error) {
	return New(Options{Version: version}).table.Document()
}

// documentRoutes serves the description of all other routes.
func (s *Server) documentRoutes() {
	document, err := s.table.Document()
	s.table.Handle(route.Way{Access: admission.AccessPublic, Method: http.MethodGet, Path: "/openapi.json"}, admission.KindStream, func(w http.ResponseWriter, r *http.Request) {
		if err != nil {
			s.guard.Refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(document) // who does not read it has gone
	})
	s.table.Handle(route.Way{Access: admission.AccessPublic, Path: "/"}, admission.KindStream, func(w http.ResponseWriter, r *http.Request) {
		s.guard.Refuse(w, r, &admission.Problem{Code: "not_found", Detail: "there is nothing at this address", Next: "see /openapi.json for what there is"})
	})
}
