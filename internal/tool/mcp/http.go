package mcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/egress"
)

// overHTTP prepares the way to an address: to that one and to no other.
func (o Options) overHTTP(e Entry, r revealed) (*peer, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Hostname() == "" {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: "the address of server " + e.Name + " cannot be read"}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	rule, local, err := ruleFor(net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	gate, err := egress.New(egress.Policy{Allow: []egress.Rule{rule}, Local: local, Resolver: o.Resolver, Budget: o.HostBytes})
	if err != nil {
		return nil, err
	}
	calls := &callers{}
	gate = gate.For(calls.reach, nil) // arguments were looked at before, and its headers are for it
	client := gate.Client()
	ended := make(chan struct{}) // we know nothing of its end
	close(ended)
	client.Transport = &courier{through: client.Transport, origin: u, headers: r.headers}
	return &peer{
		transport: &sdk.StreamableClientTransport{Endpoint: e.URL, HTTPClient: client, MaxRetries: -1, MaxEventSize: largestMessage},
		stop:      gate.Close, hide: r.hide, ended: ended, gate: gate, callers: calls,
	}, nil
}

// ruleFor allows a host, with its port if it names one. An address that is not public is allowed
// only because it was named itself.
func ruleFor(host string) (egress.Rule, []netip.AddrPort, error) {
	rule := egress.Rule{Host: host}
	if name, port, err := net.SplitHostPort(host); err == nil {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return rule, nil, &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf("host %s: there is no such port", host)}
		}
		rule.Host, rule.Ports = name, []uint16{uint16(number)}
	}
	var addresses []netip.Addr
	if strings.EqualFold(rule.Host, "localhost") {
		addresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	} else if a, err := netip.ParseAddr(rule.Host); err == nil && !egress.Public(a) {
		addresses = []netip.Addr{a}
	}
	ports := rule.Ports
	if len(ports) == 0 {
		ports = []uint16{80, 443}
	}
	var local []netip.AddrPort
	for _, a := range addresses {
		for _, p := range ports {
			local = append(local, netip.AddrPortFrom(a, p))
		}
	}
	return rule, local, nil
}

// courier gives requests the entry's headers, which go to its own address only, and bounds answers.
type courier struct {
	through http.RoundTripper
	origin  *url.URL
	headers map[string]string
}

// RoundTrip implements http.RoundTripper.
func (c *courier) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == c.origin.Scheme && request.URL.Host == c.origin.Host {
		request = request.Clone(request.Context())
		for name, value := range c.headers {
			request.Header.Set(name, value)
		}
	}
	response, err := c.through.RoundTrip(request)
	if err == nil && !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		response.Body = &bounded{from: response.Body, left: largestMessage}
	}
	return response, err
}

// bounded is an answer that must end.
type bounded struct {
	from io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the server's answer is too large")
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Close implements io.Closer.
func (b *bounded) Close() error { return b.from.Close() }
