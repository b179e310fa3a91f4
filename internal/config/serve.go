package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// OIDC is a provider of identities that speaks OpenID Connect.
type OIDC struct {
	Issuer       string `json:"issuer,omitempty" jsonschema:"the provider's address"`
	ClientID     string `json:"client_id,omitempty" jsonschema:"what the provider knows this server by"`
	ClientSecret Secret `json:"client_secret,omitzero" jsonschema:"where the secret for that is: {env:NAME} or {file:path}"`
	// Domains restrict who may log in.
	Domains []string `json:"domains,omitempty" jsonschema:"domains of e-mail addresses that may log in; all whom the provider lets in when empty"`
}

// IsZero reports whether nothing was set.
func (o OIDC) IsZero() bool {
	return o.Issuer == "" && o.ClientID == "" && o.ClientSecret.IsZero() && len(o.Domains) == 0
}

// Shared reports whether several people use the server, each with a login of their own.
func (s Settings) Shared() bool { return !s.Serve.OIDC.IsZero() }

// checkOIDC finds missing settings where people log in.
func (s Settings) checkOIDC() error {
	o := s.Serve.OIDC
	if o.IsZero() {
		return nil
	}
	if err := checkURL(o.Issuer); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	switch {
	case !encrypted(o.Issuer):
		return errors.New("issuer: only an address that begins with https can be believed")
	case o.ClientID == "" || o.ClientSecret.IsZero():
		return errors.New("client_id and client_secret are what the provider knows this server by: set both")
	case s.Journal.DSN.IsZero():
		return errors.New("several people need a journal on PostgreSQL: set journal.dsn")
	case s.Serve.URL == "":
		return errors.New("people must find back from the provider: set serve.url to the address that they type")
	}
	for _, d := range o.Domains {
		if strings.ContainsAny(d, "@/ *") || !strings.Contains(d, ".") {
			return fmt.Errorf("domains: %q is no domain: write example.org", d)
		}
	}
	return nil
}

// checkURL finds the fault of the address that people type.
func (s Serve) checkURL() error {
	if s.URL == "" {
		return nil
	}
	if err := checkURL(s.URL); err != nil {
		return err
	}
	if u, err := url.Parse(s.URL); err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return errors.New("write scheme and host only, such as https://retinue.example.org")
	}
	if !s.OIDC.IsZero() && !encrypted(s.URL) {
		return errors.New("sessions need an address that begins with https")
	}
	return nil
}

// encrypted reports whether an address is read over an encrypted connection, or leads nowhere.
func encrypted(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || (err == nil && ip.IsLoopback())
}

func checkNetwork(text string) error {
	if _, err := netip.ParsePrefix(text); err != nil {
		return fmt.Errorf("%q is no network: write it as 10.0.0.0/8", text)
	}
	return nil
}
