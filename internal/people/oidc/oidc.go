// Package oidc logs people in with OpenID Connect: the authorisation code flow with PKCE, state and
// nonce. It imports people and chat.
package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

// Options name the provider and our identity there.
type Options struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	// Redirect is where the provider sends people back to.
	Redirect string
	// Domains are those of the addresses that may log in; none means that all may whom the provider
	// lets.
	Domains []string
}

// askTime is how long the provider may take to answer.
const askTime = 10 * time.Second

// Provider is where people log in.
type Provider struct {
	options Options
	client  *http.Client

	mu    sync.Mutex
	found *oidc.Provider
}

// New makes a provider. It is asked for its configuration at the first login, so that a server can
// start without it: people with a session or a key do not need it.
func New(o Options) *Provider {
	return &Provider{options: o, client: &http.Client{Timeout: askTime}}
}

// discover reads the provider's configuration, once.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// Its keys are read later on, so what it keeps must outlive the request.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.options.Issuer)
	if err != nil {
		return nil, unreachable(err)
	}
	p.found = found
	return found, nil
}

func unreachable(err error) error {
	return fmt.Errorf("ask the provider of identities: %w", errors.Join(&chat.Error{
		Code: chat.CodeUnavailable, Message: "the provider of identities does not answer; try again",
	}, err))
}

func (p *Provider) config(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.options.ClientID, ClientSecret: p.options.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: p.options.Redirect, Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// Address is the page to which a person is sent to log in.
func (p *Provider) Address(ctx context.Context, state, nonce, verifier string) (string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.config(found).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Exchange returns the person who came back with a code.
func (p *Provider) Exchange(ctx context.Context, code, nonce, verifier string) (people.Person, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return people.Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.config(found).Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) {
			return people.Person{}, denied("the provider of identities does not know this login; log in again")
		}
		return people.Person{}, unreachable(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return people.Person{}, denied("the provider of identities sent no identity")
	}
	id, err := found.Verifier(&oidc.Config{ClientID: p.options.ClientID}).Verify(ctx, raw)
	if err != nil {
		return people.Person{}, denied("the provider's identity does not hold; log in again")
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1 {
		return people.Person{}, denied("the identity is for another login; log in again")
	}
	return p.person(ctx, found, token, id)
}

// claims are what we need to know of a person.
type claims struct {
	Email    string `json:"email"`
	Verified bool   `json:"email_verified"`
	Name     string `json:"name"`
}

// person reads who it is. Providers may leave the address out of the identity and tell it when
// asked.
func (p *Provider) person(ctx context.Context, found *oidc.Provider, token *oauth2.Token, id *oidc.IDToken) (people.Person, error) {
	var c claims
	if err := id.Claims(&c); err != nil {
		return people.Person{}, denied("the provider's identity cannot be read")
	}
	if c.Email == "" {
		info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return people.Person{}, unreachable(err)
		}
		if info.Subject != id.Subject {
			return people.Person{}, denied("the provider told of somebody else")
		}
		c = claims{Email: info.Email, Verified: info.EmailVerified}
		var more claims
		if info.Claims(&more) == nil {
			c.Name = more.Name
		}
	}
	if !c.Verified {
		return people.Person{}, denied("the provider has not verified your e-mail address: verify it there, then log in again")
	}
	email, err := people.Email(c.Email)
	if err != nil {
		return people.Person{}, denied("the provider knows no e-mail address of yours")
	}
	_, domain, _ := strings.Cut(email, "@")
	if len(p.options.Domains) > 0 && !slices.ContainsFunc(p.options.Domains, func(d string) bool { return strings.EqualFold(d, domain) }) {
		return people.Person{}, denied("people of " + domain + " may not log in here: ask who runs this server")
	}
	return people.Person{Issuer: id.Issuer, Subject: id.Subject, Email: email, Name: c.Name}, nil
}

func denied(text string) error { return &chat.Error{Code: chat.CodeDenied, Message: text} }
