package identity

import (
	"net/http"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

// Hosted is the authenticator of an installation that several share: people show a session,
// programs a key. Both are looked up for every request, so that what is revoked or changed counts
// at once.
type Hosted struct {
	Credentials people.Credentials
	// Cookie is the name of the session's; empty means admission.SessionCookie.
	Cookie string
	Now    func() time.Time
}

// Identify implements admission.Authenticator. A key goes before a session.
func (h Hosted) Identify(r *http.Request) (admission.Caller, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		text, _ := strings.CutPrefix(header, "Bearer ")
		key, ok := people.ParseCredential(people.KindKey, text)
		if !ok {
			return admission.Caller{}, admission.Unauthorised()
		}
		holder, err := h.Credentials.Key(r.Context(), key, h.Now())
		return callerFrom(holder, "key:"+holder.ID, err)
	}
	session, ok := sessionOf(r, h.Cookie)
	if !ok {
		return admission.Caller{}, admission.Unauthorised()
	}
	holder, err := h.Credentials.Session(r.Context(), session, h.Now())
	caller, err := callerFrom(holder, "session:"+holder.Person, err)
	caller.Cookie = true
	return caller, err
}

// sessionOf is the session that a browser sent.
func sessionOf(r *http.Request, name string) (people.Credential, bool) {
	if name == "" {
		name = admission.SessionCookie
	}
	cookies := r.CookiesNamed(name)
	if len(cookies) != 1 { // two would leave open whose it is
		return people.Credential{}, false
	}
	return people.ParseCredential(people.KindSession, cookies[0].Value)
}

// callerFrom is who holds a credential. The address is what others are shown: it is verified, and
// nobody can choose that of another.
func callerFrom(h people.Holder, credential string, err error) (admission.Caller, error) {
	if chat.CodeOf(err) == chat.CodeNotFound {
		return admission.Caller{}, admission.Unauthorised()
	}
	if err != nil {
		return admission.Caller{}, err
	}
	return admission.Caller{
		Tenant: h.Tenant, User: h.Person, Name: h.Email, Role: h.Role, Scopes: h.Scopes, Credential: credential, Until: h.Until, Deleting: h.Deleting,
	}, nil
}
