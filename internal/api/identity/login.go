package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

// Provider is where people log in.
type Provider interface {
	// Address is where to send somebody who wants to log in.
	Address(ctx context.Context, state, nonce, verifier string) (string, error)
	// Exchange finds out who came back with a code.
	Exchange(ctx context.Context, code, nonce, verifier string) (people.Person, error)
}

// Login is how people log in.
type Login struct {
	Provider Provider
	// Plain lets cookies travel without encryption. It is for servers on a loopback address.
	Plain bool
}

// Cookie is the name of the session's cookie. The usual name is one that browsers only take over an
// encrypted connection and for the whole of one host.
func (l Login) Cookie() string { return l.name(admission.SessionCookie) }

// stateCookie ties a login to the browser that began it.
const stateCookie = admission.SessionCookie + "-login"

func (l Login) name(usual string) string {
	if l.Plain {
		return strings.TrimPrefix(usual, "__Host-")
	}
	return usual
}

// set gives a browser a cookie; one without a value is taken away.
func (l Login) set(w http.ResponseWriter, name, value string, life time.Duration) {
	c := &http.Cookie{
		Name: l.name(name), Value: value, Path: "/", Secure: !l.Plain, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		MaxAge: int(life / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

func (s *Service) loginRoutes(t *route.Table) {
	refusals := []int{http.StatusNotFound}
	t.Browse(admission.AccessPublic, huma.Operation{
		OperationID: "beginLogin", Method: http.MethodGet, Path: "/login", Errors: refusals, Tags: []string{BrowsersTag},
		Summary:    "Send a browser to where people log in",
		Parameters: []*huma.Param{query("next", "Where the login leads, on this server.")},
		Responses:  leads("To the provider of identities, with a cookie that ties the login to this browser."),
	}, s.Alone(s.beginLogin))
	t.Browse(admission.AccessPublic, huma.Operation{
		OperationID: "endLogin", Method: http.MethodGet, Path: "/login/callback", Errors: refusals, Tags: []string{BrowsersTag},
		Summary: "Take back a browser from where people log in",
		Parameters: []*huma.Param{
			query("state", "What the login was begun with."), query("code", "What the provider gave."),
			query("error", "Why the provider gave none."),
		},
		Responses: leads("To where the login leads, with the cookie of a session."),
	}, s.Alone(s.endLogin))
	t.Browse(admission.AccessSelf, huma.Operation{
		OperationID: "logout", Method: http.MethodPost, Path: "/logout", Tags: []string{BrowsersTag}, Summary: "End the session of a browser",
		Responses: Done("The session has ended and the cookie is taken away."),
	}, s.Alone(s.logout))
}

// BrowsersTag marks what works with the cookies of a browser only.
const BrowsersTag = "browsers"

func query(name, description string) *huma.Param {
	return &huma.Param{Name: name, In: "query", Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
}

// leads describes the answer of a route that leads a browser elsewhere.
func leads(where string) map[string]*huma.Response {
	text := &huma.Schema{Type: huma.TypeString}
	return map[string]*huma.Response{strconv.Itoa(http.StatusSeeOther): {
		Description: where,
		Headers:     map[string]*huma.Param{"Location": {Schema: text}, "Set-Cookie": {Schema: text}},
		Content:     map[string]*huma.MediaType{"text/html": {Schema: text}},
	}}
}

// Done describes the answer of a route that changes a cookie and has nothing to say.
func Done(what string) map[string]*huma.Response {
	return map[string]*huma.Response{strconv.Itoa(http.StatusNoContent): {
		Description: what,
		Headers:     map[string]*huma.Param{"Set-Cookie": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// NoPeople is the answer where there is one person only.
func NoPeople() error {
	return &admission.Problem{
		Code: "not_found", Detail: "this installation belongs to one person, who does not log in",
		Next: "to share it, keep the journal on Postgres and set serve.oidc",
	}
}

// Alone answers requests about people where there are none, and errors everywhere.
func (s *Service) Alone(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := NoPeople()
		if s.options.People != nil && s.options.Login.Provider != nil {
			err = handle(w, r)
		}
		if err != nil {
			s.guard.Refuse(w, r, err)
		}
	}
}

// within is an address on this server: a path, and what may follow it.
var within = regexp.MustCompile(`^/([A-Za-z0-9_~.-][A-Za-z0-9_~./-]*)?(\?[A-Za-z0-9_~./=&%-]*)?(#[A-Za-z0-9_~./=&%-]*)?$`)

// mostNext is how long the address may be to which a login leads.
const mostNext = 500

// inside is where a login leads: never to another server.
func inside(next string) string {
	if len(next) > mostNext || !within.MatchString(next) {
		return "/"
	}
	return next
}

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// secretText is more than 256 random bits, as text.
func secretText() string { return rand.Text() + rand.Text() }

func (s *Service) beginLogin(w http.ResponseWriter, r *http.Request) error {
	address, now := s.guard.Address(r), s.options.Now()
	if err := s.logins.Check(address, now); err != nil {
		return err
	}
	state, nonce, verifier := secretText(), secretText(), secretText()
	s.logins.Failed(address, state, now) // each costs a row
	where, err := s.options.Login.Provider.Address(r.Context(), state, nonce, verifier)
	if err != nil {
		return err
	}
	err = s.options.People.BeginLogin(r.Context(), people.Login{
		State: digest(state), Nonce: nonce, Verifier: verifier, Next: inside(r.URL.Query().Get("next")),
		Until: now.Add(people.LoginLife),
	})
	if err != nil {
		return err
	}
	s.options.Login.set(w, stateCookie, state, people.LoginLife)
	http.Redirect(w, r, where, http.StatusSeeOther)
	return nil
}

// badLogin is the answer to a login that nobody began here, or that was carried out before.
func badLogin() error {
	return &admission.Problem{
		Status: http.StatusForbidden, Code: "forbidden", Detail: "this login was not begun in this browser, or it is over",
		Next: "log in again, at /login",
	}
}

func (s *Service) endLogin(w http.ResponseWriter, r *http.Request) error {
	login, ctx, now := s.options.Login, r.Context(), s.options.Now()
	q := r.URL.Query()
	cookie, err := r.Cookie(login.name(stateCookie))
	state := q.Get("state")
	if err != nil || state == "" || subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(state)) != 1 {
		return badLogin()
	}
	login.set(w, stateCookie, "", 0)
	address := s.guard.Address(r)
	if err := s.returns.Check(address, now); err != nil {
		return err
	}
	begun, err := s.options.People.TakeLogin(ctx, digest(state), now)
	if chat.CodeOf(err) == chat.CodeNotFound {
		s.returns.Failed(address, secretText(), now) // the same one again costs as much as another
		return badLogin()
	}
	if err != nil {
		return err
	}
	if q.Get("error") != "" || q.Get("code") == "" {
		return &admission.Problem{
			Status: http.StatusForbidden, Code: "forbidden", Detail: "the provider of identities did not let you in",
			Next: "log in again, at /login",
		}
	}
	person, err := login.Provider.Exchange(ctx, q.Get("code"), begun.Nonce, begun.Verifier)
	if err != nil {
		return err
	}
	var tenants []people.Tenant
	home := s.entering(r, person.Home(), person.ID())
	err = s.guard.TracedAs(ctx, home, audit.Record{Action: audit.ActionLogin}, func() (err error) {
		tenants, err = s.options.People.Arrive(ctx, person, now, s.joining(r, person))
		return err
	})
	if err != nil {
		return err
	}
	tenants = slices.DeleteFunc(tenants, func(t people.Tenant) bool { return t.Deleting })
	if len(tenants) == 0 {
		return &admission.Problem{Status: http.StatusForbidden, Code: "forbidden", Detail: "you belong to no tenant that is not being deleted", Next: "log in again in a minute, or ask an owner to add you"}
	}
	in := Arrival{Tenant: tenants[0].ID, Person: person.ID(), Until: now.Add(people.SessionLife), How: "login"}
	if err := s.StartSession(w, r, in); err != nil {
		return err
	}
	http.Redirect(w, r, begun.Next, http.StatusSeeOther)
	return nil
}

// Arrival is a person who is let into a tenant, how they came there, and how long they may stay.
type Arrival struct {
	Tenant, Person string
	Until          time.Time
	How            string
}

// joining puts on a tenant's trail that a person takes up an invitation there.
func (s *Service) joining(r *http.Request, p people.Person) people.Taking {
	return func(i people.Invitation, take func() error) error {
		record := audit.Record{Action: audit.ActionMemberJoin, Object: i.Member, Key: "join/" + i.Member}
		return s.guard.TracedAs(r.Context(), s.entering(r, i.Tenant, p.ID()), record, take)
	}
}

// entering is a person as the trail of the tenant names them.
func (s *Service) entering(r *http.Request, tenant, person string) admission.Caller {
	return admission.Caller{Tenant: tenant, User: person, Credential: "session:" + person, From: s.guard.Remote(r)}
}

// StartSession lets a person in and ends the session that their browser had.
func (s *Service) StartSession(w http.ResponseWriter, r *http.Request, in Arrival) error {
	now, login := s.options.Now(), s.options.Login
	next := people.Session{
		Credential: people.NewCredential(people.KindSession, in.Tenant), Person: in.Person, At: now, Until: in.Until,
	}
	record := audit.Record{Action: audit.ActionSessionBegin, Detail: "by=" + in.How + " until=" + in.Until.UTC().Format(time.RFC3339)}
	err := s.guard.TracedAs(r.Context(), s.entering(r, in.Tenant, in.Person), record, func() error { return s.options.People.StartSession(r.Context(), next) })
	if err != nil {
		return err
	}
	if before, ok := sessionOf(r, login.Cookie()); ok {
		if err := s.endSession(r, before, in.How); err != nil {
			return err
		}
	}
	login.set(w, admission.SessionCookie, next.Credential.Text, in.Until.Sub(now))
	return nil
}

// endSession ends a session, if it is one, and notes it where the session was.
func (s *Service) endSession(r *http.Request, c people.Credential, how string) error {
	ctx := r.Context()
	holder, err := s.options.People.Session(ctx, c, s.options.Now())
	if chat.CodeOf(err) == chat.CodeNotFound {
		return nil // it has ended
	}
	if err != nil {
		return err
	}
	whose := s.entering(r, holder.Tenant, holder.Person)
	return s.guard.TracedAs(ctx, whose, audit.Record{Action: audit.ActionSessionEnd, Detail: "by=" + how}, func() error {
		return s.options.People.EndSession(ctx, c)
	})
}

func (s *Service) logout(w http.ResponseWriter, r *http.Request) error {
	session, ok := sessionOf(r, s.options.Login.Cookie())
	if !ok {
		return &admission.Problem{Code: "conflict", Detail: "there is no session to end", Next: "to give up a key, revoke it"}
	}
	if err := s.endSession(r, session, "logout"); err != nil {
		return err
	}
	s.options.Login.set(w, admission.SessionCookie, "", 0)
	w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
