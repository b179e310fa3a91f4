package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"regexp"
	"strings"
	"time"

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
func (l Login) Cookie() string { return l.name(SessionCookie) }

// stateCookie ties a login to the browser that began it.
const stateCookie = SessionCookie + "-login"

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

func (s *Server) loginRoutes() {
	s.handle(accessPublic, http.MethodGet, "/login", s.alone(s.beginLogin))
	s.handle(accessPublic, http.MethodGet, "/login/callback", s.alone(s.endLogin))
	s.handle(accessSelf, http.MethodPost, "/logout", s.alone(s.logout))
}

// noPeople is the answer where there is one person only.
func noPeople() error {
	return &Problem{
		Code: "not_found", Detail: "this installation belongs to one person, who does not log in",
		Next: "to share it, keep the journal on Postgres and set serve.oidc",
	}
}

// alone answers requests about people where there are none, and errors everywhere.
func (s *Server) alone(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := noPeople()
		if s.options.People != nil && s.options.Login.Provider != nil {
			err = handle(w, r)
		}
		if err != nil {
			s.refuse(w, r, err)
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

func (s *Server) beginLogin(w http.ResponseWriter, r *http.Request) error {
	address, now := s.guesses.address(r), s.options.Now()
	if err := s.guesses.check(address, now); err != nil {
		return err
	}
	state, nonce, verifier := secretText(), secretText(), secretText()
	s.guesses.failed(address, state, now) // each costs a row
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
	return &Problem{
		Status: http.StatusForbidden, Code: "forbidden", Detail: "this login was not begun in this browser, or it is over",
		Next: "log in again, at /login",
	}
}

func (s *Server) endLogin(w http.ResponseWriter, r *http.Request) error {
	login, ctx, now := s.options.Login, r.Context(), s.options.Now()
	q := r.URL.Query()
	cookie, err := r.Cookie(login.name(stateCookie))
	state := q.Get("state")
	if err != nil || state == "" || subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(state)) != 1 {
		return badLogin()
	}
	login.set(w, stateCookie, "", 0)
	begun, err := s.options.People.TakeLogin(ctx, digest(state), now)
	if chat.CodeOf(err) == chat.CodeNotFound {
		return badLogin()
	}
	if err != nil {
		return err
	}
	if q.Get("error") != "" || q.Get("code") == "" {
		return &Problem{
			Status: http.StatusForbidden, Code: "forbidden", Detail: "the provider of identities did not let you in",
			Next: "log in again, at /login",
		}
	}
	person, err := login.Provider.Exchange(ctx, q.Get("code"), begun.Nonce, begun.Verifier)
	if err != nil {
		return err
	}
	tenants, err := s.options.People.Arrive(ctx, person, now)
	if err != nil {
		return err
	}
	if len(tenants) == 0 {
		return &Problem{Status: http.StatusForbidden, Code: "forbidden", Detail: "you belong to no tenant", Next: "ask an owner to add you"}
	}
	if err := s.startSession(w, r, tenants[0].ID, person.ID(), now.Add(people.SessionLife)); err != nil {
		return err
	}
	http.Redirect(w, r, begun.Next, http.StatusSeeOther)
	return nil
}

// startSession lets a person in and ends the session that their browser had.
func (s *Server) startSession(w http.ResponseWriter, r *http.Request, tenant, person string, until time.Time) error {
	now, login := s.options.Now(), s.options.Login
	next := people.Session{Credential: people.NewCredential(people.KindSession, tenant), Person: person, At: now, Until: until}
	if err := s.options.People.StartSession(r.Context(), next); err != nil {
		return err
	}
	if before, ok := sessionOf(r, login.Cookie()); ok {
		if err := s.options.People.EndSession(r.Context(), before); err != nil {
			return err
		}
	}
	login.set(w, SessionCookie, next.Credential.Text, until.Sub(now))
	return nil
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) error {
	session, ok := sessionOf(r, s.options.Login.Cookie())
	if !ok {
		return &Problem{Code: "conflict", Detail: "there is no session to end", Next: "to give up a key, revoke it"}
	}
	if err := s.options.People.EndSession(r.Context(), session); err != nil {
		return err
	}
	s.options.Login.set(w, SessionCookie, "", 0)
	w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
