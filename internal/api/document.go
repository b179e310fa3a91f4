package api

import "net/http"

// Document is the description of all routes (OpenAPI 3.1), as a server of this version serves it.
func Document(version string) ([]byte, error) {
	return New(Options{Version: version}).huma.OpenAPI().MarshalJSON()
}

// documentRoutes serves the description of all other routes.
func (s *Server) documentRoutes() {
	document, err := s.huma.OpenAPI().MarshalJSON()
	s.handle(Route{Access: accessPublic, Method: http.MethodGet, Path: "/openapi.json"}, kindStream, func(w http.ResponseWriter, r *http.Request) {
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(document) // who does not read it has gone
	})
	s.handle(Route{Access: accessPublic, Path: "/"}, kindStream, func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, &Problem{Code: "not_found", Detail: "there is nothing at this address", Next: "see /openapi.json for what there is"})
	})
}
