package app

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/people/oidc"
	store "github.com/retinue-dev/retinue/internal/people/postgres"
)

// share makes a server one that several people use: they log in, and what they show is looked up.
func (n *Node) share(ctx context.Context, o *api.Options) error {
	s := n.options.Loaded.Settings
	dsn, err := s.Journal.DSN.Reveal(n.options.Lookup)
	if err != nil {
		return fmt.Errorf("journal.dsn: %w", err)
	}
	secret, err := s.Serve.OIDC.ClientSecret.Reveal(n.options.Lookup)
	if err != nil {
		return fmt.Errorf("serve.oidc.client_secret: %w", err)
	}
	at, err := url.Parse(s.Serve.URL)
	if err != nil {
		return fmt.Errorf("serve.url: %w", err)
	}
	kept, err := store.Open(ctx, store.Options{DSN: dsn})
	if err != nil {
		return err
	}
	n.closers = append(n.closers, func() error { kept.Close(); return nil })
	o.People, o.Local, n.people = kept, nil, kept
	o.Login = identity.Login{
		// The settings take an address without encryption on this machine only.
		Plain: at.Scheme == "http",
		Provider: oidc.New(oidc.Options{
			Issuer: s.Serve.OIDC.Issuer, ClientID: s.Serve.OIDC.ClientID, ClientSecret: secret,
			Redirect: strings.TrimSuffix(s.Serve.URL, "/") + "/login/callback", Domains: s.Serve.OIDC.Domains,
		}),
	}
	o.Authenticator = identity.Hosted{Credentials: kept, Cookie: o.Login.Cookie(), Now: time.Now}
	return nil
}

// proxies are the networks whose word on addresses is taken.
func (n *Node) proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range n.options.Loaded.Settings.Serve.Proxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("serve.proxies: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}
