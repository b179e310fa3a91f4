package identity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
)

// Browsers lets the browsers of one machine in. A link carries a code. For it a browser gets a
// cookie, which no script can read, and a proof, which only pages of this server can. The server
// wants both: a browser sends its cookies to every port of a machine, and another user may listen
// on one. The code is worth nothing as soon as the session is used. Until then it can be exchanged
// again, and the session before is void: a page that was reloaded meanwhile never got its answer.
//
// Nothing of it is written down, so a restart ends all sessions: what somebody who took the port
// meanwhile may have been sent is worth nothing.
type Browsers struct {
	// Address is where the server is, for links.
	Address string

	mu       sync.Mutex
	links    []browserLink
	sessions []browserSession
}

type (
	secretSum      = [sha256.Size]byte
	browserSession struct{ cookie, proof secretSum }
	// browserLink is a link whose session, if there is one, nobody has used.
	browserLink struct {
		code    secretSum
		session browserSession
	}
)

const (
	// mostLinks and mostBrowsers are how many are known at a time. The oldest goes first.
	mostLinks    = 16
	mostBrowsers = 64
	// longestEntrance is how much a browser may send to get in.
	longestEntrance = 1 << 10
)

// Link makes an address that lets one browser in, once.
func (b *Browsers) Link() string {
	code := secretText()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.links = newest(append(b.links, browserLink{code: sha256.Sum256([]byte(code))}), mostLinks)
	return b.Address + "/#code=" + code
}

// exchange gives a session for a code.
func (b *Browsers) exchange(code string) (cookie, proof string, ok bool) {
	sum := sha256.Sum256([]byte(code))
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.links, func(l browserLink) bool { return l.code == sum })
	if i < 0 {
		return "", "", false
	}
	cookie, proof = secretText(), secretText()
	b.links[i].session = browserSession{sha256.Sum256([]byte(cookie)), sha256.Sum256([]byte(proof))}
	return cookie, proof, true
}

// knows reports whether a request has both halves of a session.
func (b *Browsers) knows(r *http.Request) bool {
	if b == nil {
		return false
	}
	cookies := r.CookiesNamed(browserCookie(r))
	if len(cookies) != 1 { // two would leave open whose it is
		return false
	}
	shown := browserSession{sha256.Sum256([]byte(cookies[0].Value)), sha256.Sum256([]byte(r.Header.Get(admission.CommandHeader)))}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.sessions, shown) { // of digests, so that the time it takes tells nothing
		return true
	}
	i := slices.IndexFunc(b.links, func(l browserLink) bool { return l.session == shown })
	if i < 0 {
		return false
	}
	b.links = slices.Delete(b.links, i, i+1)
	b.sessions = newest(append(b.sessions, shown), mostBrowsers)
	return true
}

func newest[T any](all []T, most int) []T {
	if len(all) > most {
		return slices.Clone(all[len(all)-most:])
	}
	return all
}

// browserCookie is named after the port: browsers do not tell the ports of a machine apart, and two
// servers on one machine must not overwrite each other's.
func browserCookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "retinue-" + port
	}
	return "retinue"
}

// entrance is what a browser gets for the code of a link, beside a cookie.
type entrance struct {
	Proof string `json:"proof" doc:"To be sent with every request, in the header Retinue-Request."`
}

type linkOutput struct {
	Body struct {
		URL string `json:"url" doc:"What to open. It lets one browser in, once, until the server ends."`
	}
}

func (s *Service) browserRoutes(t *route.Table) {
	text := &huma.Schema{Type: huma.TypeString}
	t.Browse(admission.AccessPublic, huma.Operation{
		OperationID: "enter", Method: http.MethodPost, Path: "/login/link", Tags: []string{BrowsersTag},
		Summary: "Let a browser of this machine in, for the code of a link", Errors: []int{http.StatusForbidden, http.StatusNotFound},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
			Schema: &huma.Schema{
				Type: huma.TypeObject, Properties: map[string]*huma.Schema{"code": text}, Required: []string{"code"}, AdditionalProperties: false,
			},
		}}},
		Responses: map[string]*huma.Response{strconv.Itoa(http.StatusOK): {
			Description: "The browser is in until the server ends.",
			Headers:     map[string]*huma.Param{"Set-Cookie": {Schema: text}},
			Content:     map[string]*huma.MediaType{"application/json": {Schema: t.Schemas().Schema(reflect.TypeFor[entrance](), true, "")}},
		}},
	}, func(w http.ResponseWriter, r *http.Request) {
		if err := s.letIn(w, r); err != nil {
			s.guard.Refuse(w, r, err)
		}
	})
	route.Add(t, admission.AccessSelf, huma.Operation{
		OperationID: "createLink", Method: http.MethodPost, Path: "/v1/links", DefaultStatus: http.StatusCreated,
		Summary: "Make an address that lets one browser of this machine in, once", Tags: []string{"people"},
	}, s.createLink)
}

// noBrowsers is the answer where browsers log in.
func noBrowsers() error {
	return &admission.Problem{Code: "not_found", Detail: "there are no links here: people log in", Next: "log in, at /login"}
}

func (s *Service) letIn(w http.ResponseWriter, r *http.Request) error {
	local := s.options.Local
	if local == nil || local.Browsers == nil {
		return noBrowsers()
	}
	address, now := s.guard.Address(r), s.options.Now()
	if err := s.returns.Check(address, now); err != nil {
		return err
	}
	var asked struct {
		Code string `json:"code"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, longestEntrance)).Decode(&asked); err != nil {
		return &admission.Problem{Code: "invalid", Detail: "the body is no JSON with a code in it"}
	}
	cookie, proof, ok := local.Browsers.exchange(asked.Code)
	if !ok {
		s.returns.Failed(address, asked.Code, now)
		return &admission.Problem{
			Status: http.StatusForbidden, Code: "forbidden", Detail: "this link was used before, or the server was started again since",
			Next: "run 'retinue link' and open what it prints",
		}
	}
	caller := local.caller()
	caller.From = s.guard.Remote(r)
	err := s.guard.TracedAs(r.Context(), caller, audit.Record{Action: audit.ActionSessionBegin, Detail: "by=link"}, func() error { return nil })
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: browserCookie(r), Value: cookie, Path: "/", HttpOnly: true, Secure: s.options.Secure, SameSite: http.SameSiteStrictMode,
	})
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(entrance{Proof: proof})
}

func (s *Service) createLink(ctx context.Context, _ *struct{}) (*linkOutput, error) {
	if s.options.Local == nil || s.options.Local.Browsers == nil {
		return nil, noBrowsers()
	}
	out := &linkOutput{}
	return out, s.guard.Traced(ctx, audit.Record{Action: audit.ActionLinkCreate}, func() error {
		out.Body.URL = s.options.Local.Browsers.Link()
		return nil
	})
}
