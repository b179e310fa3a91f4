package oidc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/internal/people/oidc"
)

// Of one login.
const (
	loginCode = "code-1"
	nonce     = "nonce-1"
	verifier  = "a-verifier-that-nobody-else-knows-at-all-0001"
	client    = "retinue"
	shared    = "s3cret"
)

// provider is a provider of identities. It gives one identity for one code, to who has the verifier
// that fits the challenge.
type provider struct {
	*httptest.Server
	key *ecdsa.PrivateKey
	// challenge is what the login began with.
	challenge string
	// claims are in the identity, and told to who asks.
	claims, told map[string]any
	// signs makes the identity's signature; the provider's own key if nil.
	signs *ecdsa.PrivateKey
	// token answers in place of the provider, if it is there.
	token http.HandlerFunc
	// mu guards what requests read and change.
	mu sync.Mutex
	// asked counts requests by path.
	asked map[string]int
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{key: newKey(t), asked: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(t, w, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		point, err := p.key.PublicKey.Bytes() // 4, x and y
		if err != nil {
			t.Error(err)
		}
		p.answer(t, w, map[string]any{"keys": []any{map[string]any{
			"kty": "EC", "crv": "P-256", "kid": "1", "use": "sig", "alg": "ES256", "x": encoded(point[1:33]), "y": encoded(point[33:]),
		}}})
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if p.token != nil {
			p.token(w, r)
			return
		}
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		id, password, _ := r.BasicAuth()
		if r.FormValue("code") != loginCode || encoded(sum[:]) != p.challenge || id != client || password != shared {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
		p.answer(t, w, map[string]any{"access_token": "access-1", "token_type": "Bearer", "id_token": p.identity(t)})
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer access-1" || p.told == nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		p.answer(t, w, p.told)
	})
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked[r.URL.Path]++
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	p.claims = map[string]any{
		"iss": p.URL, "aud": client, "sub": "ann-1", "nonce": nonce, "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		"email": "Ann@Example.com", "email_verified": true, "name": "Ann",
	}
	return p
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (p *provider) answer(t *testing.T, w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		t.Error(err)
	}
}

// identity is the claims as a signed token.
func (p *provider) identity(t *testing.T) string {
	claims, err := json.Marshal(p.claims)
	if err != nil {
		t.Error(err)
	}
	text := encoded([]byte(`{"alg":"ES256","kid":"1"}`)) + "." + encoded(claims)
	sum := sha256.Sum256([]byte(text))
	key := p.key
	if p.signs != nil {
		key = p.signs
	}
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Error(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + encoded(signature)
}

// login logs somebody in, as a browser does: to the provider's address, and back with a code.
func (p *provider) login(t *testing.T, o oidc.Options) (people.Person, error) {
	t.Helper()
	o.Issuer, o.ClientID, o.ClientSecret, o.Redirect = p.URL, client, shared, "http://here/login/callback"
	to := oidc.New(o)
	address, err := to.Address(t.Context(), "state-1", nonce, verifier)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.challenge = u.Query().Get("code_challenge")
	p.mu.Unlock()
	return to.Exchange(t.Context(), loginCode, nonce, verifier)
}

// TestALoginIsBoundToItsBrowser reads where a login sends the browser: the state and the nonce go
// with it, the verifier only as its hash. The provider's configuration is read once.
func TestALoginIsBoundToItsBrowser(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	to := oidc.New(oidc.Options{Issuer: p.URL, ClientID: client, ClientSecret: shared, Redirect: "http://here/login/callback"})
	sum := sha256.Sum256([]byte(verifier))
	for range 2 {
		address, err := to.Address(t.Context(), "state-1", nonce, verifier)
		if err != nil {
			t.Fatal(err)
		}
		base, query, _ := strings.Cut(address, "?")
		got, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		want := url.Values{
			"client_id": {client}, "redirect_uri": {"http://here/login/callback"}, "response_type": {"code"}, "scope": {"openid email profile"},
			"state": {"state-1"}, "nonce": {nonce}, "code_challenge": {encoded(sum[:])}, "code_challenge_method": {"S256"},
		}
		if diff := cmp.Diff(want, got); base != p.URL+"/auth" || diff != "" {
			t.Errorf("sent to %s (-want +got):\n%s", base, diff)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.asked["/.well-known/openid-configuration"]; n != 1 {
		t.Errorf("the configuration was read %d times", n)
	}
}

// TestWhoComesBackIsKnown logs in people of whom the identity says everything, and of whom the
// provider says the rest when it is asked.
func TestWhoComesBackIsKnown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*provider){
		"all in the identity": func(*provider) {},
		"the rest when asked": func(p *provider) {
			delete(p.claims, "email")
			delete(p.claims, "email_verified")
			delete(p.claims, "name")
			p.told = map[string]any{"sub": "ann-1", "email": "ann@example.com", "email_verified": true, "name": "Ann"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			change(p)
			got, err := p.login(t, oidc.Options{Domains: []string{"elsewhere.org", "EXAMPLE.com"}})
			want := people.Person{Issuer: p.URL, Subject: "ann-1", Email: "ann@example.com", Name: "Ann"}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, the person (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestWhoIsNotKnownIsRefused has logins go wrong in every way in which a person, or somebody who
// pretends to be one, can make them. Each is refused, and nobody comes of it.
func TestWhoIsNotKnownIsRefused(t *testing.T) {
	t.Parallel()
	stranger := newKey(t)
	for name, c := range map[string]struct {
		change  func(*provider)
		domains []string
		says    string
	}{
		"a code that the provider does not know": {
			change: func(p *provider) {
				p.token = func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
				}
			}, says: "does not know this login",
		},
		"no identity": {
			change: func(p *provider) {
				p.token = func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(`{"access_token":"access-1","token_type":"Bearer"}`))
				}
			}, says: "sent no identity",
		},
		"an identity signed by a stranger":  {change: func(p *provider) { p.signs = stranger }, says: "does not hold"},
		"an identity for another program":   {change: func(p *provider) { p.claims["aud"] = "another" }, says: "does not hold"},
		"an identity of another provider":   {change: func(p *provider) { p.claims["iss"] = "https://another" }, says: "does not hold"},
		"an identity of yesterday":          {change: func(p *provider) { p.claims["exp"] = time.Now().Add(-time.Hour).Unix() }, says: "does not hold"},
		"the identity of another login":     {change: func(p *provider) { p.claims["nonce"] = "nonce-2" }, says: "for another login"},
		"an identity without a nonce":       {change: func(p *provider) { delete(p.claims, "nonce") }, says: "for another login"},
		"claims that are not what they say": {change: func(p *provider) { p.claims["email"] = 7 }, says: "cannot be read"},
		"an address that nobody verified":   {change: func(p *provider) { p.claims["email_verified"] = false }, says: "not verified"},
		"an address of which nothing is said": {
			change: func(p *provider) { delete(p.claims, "email_verified") }, says: "not verified",
		},
		"an address that is none": {change: func(p *provider) { p.claims["email"] = "Ann <ann@example.com>" }, says: "no e-mail address"},
		"an address of elsewhere": {
			change: func(p *provider) { p.claims["email"] = "ann@notexample.com" }, domains: []string{"example.com"}, says: "notexample.com may not log in",
		},
		"the address of somebody else": {
			change: func(p *provider) {
				delete(p.claims, "email")
				p.told = map[string]any{"sub": "bob-1", "email": "bob@example.com", "email_verified": true}
			}, says: "somebody else",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			c.change(p)
			got, err := p.login(t, oidc.Options{Domains: c.domains})
			refusal, ok := errors.AsType[*chat.Error](err)
			if !ok || refusal.Code != chat.CodeDenied || !strings.Contains(refusal.Message, c.says) || got != (people.Person{}) {
				t.Errorf("%+v, %v; want a refusal with %q", got, err, c.says)
			}
		})
	}
}

// TestAnotherBrowserCannotEndTheLogin has the code, and not the verifier.
func TestAnotherBrowserCannotEndTheLogin(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	if _, err := p.login(t, oidc.Options{}); err != nil {
		t.Fatal(err)
	}
	to := oidc.New(oidc.Options{Issuer: p.URL, ClientID: client, ClientSecret: shared})
	if got, err := to.Exchange(t.Context(), loginCode, nonce, "a-guess-at-the-verifier-of-somebody-else-0002"); chat.CodeOf(err) != chat.CodeDenied {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAProviderThatIsAwayIsAskedAgain begins a login while the provider does not answer, and again
// when it does. It also goes away between the two halves of a login.
func TestAProviderThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var away atomic.Bool
	away.Store(true)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		p.Config.Handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	p.URL = front.URL
	to := oidc.New(oidc.Options{Issuer: front.URL, ClientID: client, ClientSecret: shared})
	if _, err := to.Address(t.Context(), "state-1", nonce, verifier); chat.CodeOf(err) != chat.CodeUnavailable {
		t.Errorf("while it is away: %v", err)
	}
	away.Store(false)
	if _, err := to.Address(t.Context(), "state-1", nonce, verifier); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	away.Store(true)
	if _, err := to.Exchange(t.Context(), loginCode, nonce, verifier); chat.CodeOf(err) != chat.CodeUnavailable {
		t.Errorf("away in the middle of a login: %v", err)
	}
}
