package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
)

// appRoutes are the addresses that the web app answers itself; the server gives the same page for
// each. They show nothing of anybody's: what is on a page is asked for with a credential.
var appRoutes = []string{
	"/{$}", "/new", "/inbox", "/c/{rest...}", "/roles", "/roles/{rest...}", "/runs", "/settings", "/settings/{rest...}",
}

// appFiles are the files that a page asks for by a name that does not change.
var appFiles = []string{"/theme.js", "/favicon.svg"}

// noApp is the page of a program that was built without the app.
const noApp = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Retinue</title>
<h1>This program was built without its web app</h1>
<p>Build it with <code>make web engine</code>. The API is there: see <a href="/openapi.json">/openapi.json</a>.</p>
</html>
`

// foreverValue lets browsers keep what has its content's hash in its name.
const foreverValue = "public, max-age=31536000, immutable"

// webappRoutes serves the web app.
func (s *Server) webappRoutes() {
	for _, address := range appRoutes {
		s.table.Handle(route.Way{Access: admission.AccessPublic, Method: http.MethodGet, Path: address}, admission.KindStream, s.page)
	}
	for _, file := range appFiles {
		s.table.Handle(route.Way{Access: admission.AccessPublic, Method: http.MethodGet, Path: file}, admission.KindStream, func(w http.ResponseWriter, r *http.Request) {
			s.give(w, r, strings.TrimPrefix(file, "/"), "no-cache")
		})
	}
	s.table.Handle(route.Way{Access: admission.AccessPublic, Method: http.MethodGet, Path: "/assets/{file}"}, admission.KindStream, func(w http.ResponseWriter, r *http.Request) {
		s.give(w, r, "assets/"+r.PathValue("file"), foreverValue)
	})
}

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if s.options.App == nil {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(noApp)) // who does not read it has gone
		return
	}
	s.give(w, r, "index.html", "no-cache")
}

// give answers with a file of the app, compressed as it was built if the reader takes it.
func (s *Server) give(w http.ResponseWriter, r *http.Request, name, keep string) {
	content, packed, err := s.read(name, strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"))
	if err != nil {
		s.guard.Refuse(w, r, &admission.Problem{Code: "not_found", Detail: "there is nothing at this address", Next: "load the page again"})
		return
	}
	sum := sha256.Sum256(content)
	h := w.Header()
	h.Set("Cache-Control", keep)
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	h.Set("Content-Type", contentType(name))
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// read finds a file, or what it was compressed to.
func (s *Server) read(name string, small bool) (content []byte, packed bool, err error) {
	if s.options.App == nil {
		return nil, false, fs.ErrNotExist
	}
	if small {
		if content, err = fs.ReadFile(s.options.App, name+".gz"); err == nil {
			return content, true, nil
		}
	}
	content, err = fs.ReadFile(s.options.App, name)
	return content, false, err
}

// contentTypes are those of the files that a build of the app has; the system's table may say
// otherwise.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".woff2": "font/woff2", ".woff": "font/woff",
}

func contentType(name string) string {
	if t, ok := contentTypes[path.Ext(name)]; ok {
		return t
	}
	return "application/octet-stream"
}
