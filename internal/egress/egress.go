// Package egress decides where a request may go.
//
// A Gate holds a policy that denies by default. Names are resolved once, every address they resolve
// to is checked, and the address that was checked is the one dialled. The same gate serves our own
// tools, as an HTTP client, and programs in a sandbox, as a proxy on a unix socket.
//
// The package imports the standard library and, for errors, chat. It reads no environment variable.
package egress

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Policy says what may be reached. Its zero value allows nothing.
type Policy struct {
	Allow []Rule
	// Local are addresses that are allowed although they are not public, for an operator's own
	// server or a test. A rule must allow the host as well.
	Local []netip.AddrPort
	// Budget is how many bytes may go to and come from one host, together; unlimited when 0.
	Budget int64
	// Resolver finds the addresses of a name; the machine's own when nil.
	Resolver Resolver
}

// Reach is told where a connection will lead, before the first one to that target is opened. An
// error keeps it closed.
type Reach func(ctx context.Context, to Target) error

// Target is where connections lead. It names no path: a path can carry a secret.
type Target struct {
	Host string
	Port uint16
}

// Leaks names the values in a text that must not leave, empty if it holds none. Nil searches for
// nothing.
type Leaks func(text string) string

// Rule allows requests to a host.
type Rule struct {
	Host string // a name, an address, *.name for all names below it, or * for all
	// Ports are 80 and 443 when empty.
	Ports []uint16
	// Methods and PathPrefix narrow the rule. An encrypted tunnel hides the method and the path, so
	// such a rule opens none.
	Methods    []string
	PathPrefix string
}

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Traffic counts the bytes sent to a target and received from it.
type Traffic struct {
	Target
	Sent, Received int64
}

// Gate enforces a policy. It is safe for concurrent use.
type Gate struct {
	policy    Policy
	reach     Reach
	leaks     Leaks
	transport *http.Transport

	mu      sync.Mutex
	spent   map[string]int64
	traffic map[Target]*Traffic
}

const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 30 * time.Second
	maxRedirects  = 5
	// maxHeaderBytes is the largest size of an answer's headers.
	maxHeaderBytes = 1 << 20
)

// New checks the policy's rules and makes a gate of it.
func New(policy Policy) (*Gate, error) {
	policy.Allow = slices.Clone(policy.Allow)
	for i, rule := range policy.Allow {
		name := strings.TrimPrefix(rule.Host, "*.")
		if name != "*" {
			clean, err := checkHost(name)
			if err != nil {
				return nil, fmt.Errorf("rule for %q: %w", rule.Host, err)
			}
			policy.Allow[i].Host = strings.TrimSuffix(rule.Host, name) + clean
		}
		if rule.PathPrefix != "" && !strings.HasPrefix(rule.PathPrefix, "/") {
			return nil, fmt.Errorf("rule for %q: %w", rule.Host, invalid("a path prefix starts with /"))
		}
	}
	if policy.Resolver == nil {
		policy.Resolver = &net.Resolver{PreferGo: true}
	}
	return newGate(policy, nil, nil), nil
}

// For is a gate of its own with the same policy: its budget is unused, it tells reach its targets,
// and it blocks the values that leaks finds. Close it after use.
func (g *Gate) For(reach Reach, leaks Leaks) *Gate { return newGate(g.policy, reach, leaks) }

func newGate(policy Policy, reach Reach, leaks Leaks) *Gate {
	g := &Gate{policy: policy, reach: reach, leaks: leaks, spent: map[string]int64{}, traffic: map[Target]*Traffic{}}
	g.transport = &http.Transport{
		Proxy:                 nil,
		DialContext:           g.dial,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: headerTimeout,
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
		// Nobody needs more, and the library's own limit is ten times as much.
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return g
}

// Traffic is the traffic through the gate so far, in the order of its targets.
func (g *Gate) Traffic() []Traffic {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []Traffic
	for _, t := range g.traffic {
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b Traffic) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return all
}

// Client is for our own tools. It follows a few redirects, each checked like a first request.
func (g *Gate) Client() *http.Client {
	return &http.Client{
		Transport: guard{g},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return &chat.Error{Code: chat.CodeLimit, Message: fmt.Sprintf("more than %d redirects", maxRedirects)}
			}
			return nil
		},
	}
}

// Close ends idle connections.
func (g *Gate) Close() { g.transport.CloseIdleConnections() }

// guard checks every request on its way, so that a redirect is no way around.
type guard struct{ gate *Gate }

// RoundTrip implements http.RoundTripper.
func (t guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.gate.admit(r); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return t.gate.transport.RoundTrip(r)
}

// admit checks a request against the rules.
func (g *Gate) admit(r *http.Request) error {
	host, port, err := g.target(r.URL)
	if err == nil {
		err = g.allowed(r.Method, host, port, r.URL.EscapedPath())
	}
	if err == nil && r.Host != "" && !sameHost(r.Host, r.URL.Host) {
		err = denied("the Host header differs from the address")
	}
	if err == nil {
		err = g.leak("address", r.URL.String())
	}
	return err
}

// sameHost compares without regard to case: a request for an allowed host must not be answered, at
// the same address, by another.
func sameHost(a, b string) bool { return strings.EqualFold(a, b) }

// allowed finds a rule for the request. A tunnel has the method CONNECT and no path.
func (g *Gate) allowed(method, host string, port uint16, path string) error {
	for _, rule := range g.policy.Allow {
		if rule.allows(method, host, port, path) {
			return nil
		}
	}
	return denied(fmt.Sprintf("no rule allows %s to %s, port %d", method, host, port))
}

func (r Rule) allows(method, host string, port uint16, path string) bool {
	ports := r.Ports
	if len(ports) == 0 {
		ports = []uint16{80, 443}
	}
	below, wild := strings.CutPrefix(r.Host, "*.")
	named := r.Host == "*" || r.Host == host || wild && strings.HasSuffix(host, "."+below)
	if !named || !slices.Contains(ports, port) {
		return false
	}
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return false
	}
	return r.PathPrefix == "" || underPrefix(path, r.PathPrefix)
}

// underPrefix compares whole parts of a path. A path that a server might read as another one is
// under none.
func underPrefix(path, prefix string) bool {
	lower := strings.ToLower(path)
	for _, trick := range []string{"%2f", "%5c", "%2e", "\\", "//", ";"} {
		if strings.Contains(lower, trick) {
			return false
		}
	}
	if slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return part == "." || part == ".." }) {
		return false
	}
	return strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix) ||
		path == prefix || strings.HasPrefix(path, prefix+"/")
}

// announce tells where a connection will lead, once for each target.
func (g *Gate) announce(ctx context.Context, to Target) error {
	g.mu.Lock()
	_, known := g.traffic[to]
	g.mu.Unlock()
	if known {
		return nil
	}
	if g.reach != nil {
		if err := g.reach(ctx, to); err != nil {
			return &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf("record that %s is reached: %v", to.Host, err)}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.traffic[to] == nil { // two requests may have come at once, and reach was told of both
		g.traffic[to] = &Traffic{Target: to}
	}
	return nil
}

// spend takes bytes off the budget of a host, and refuses when it is used up.
func (g *Gate) spend(to Target, sent, received int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.traffic[to]; t != nil {
		t.Sent += int64(sent)
		t.Received += int64(received)
	}
	if g.policy.Budget <= 0 {
		return nil
	}
	if g.spent[to.Host] += int64(sent + received); g.spent[to.Host] > g.policy.Budget {
		return &chat.Error{Code: chat.CodeLimit, Message: fmt.Sprintf(
			"%s has had its %d bytes", to.Host, g.policy.Budget)}
	}
	return nil
}

func denied(message string) error { return &chat.Error{Code: chat.CodeDenied, Message: message} }

func invalid(message string) error { return &chat.Error{Code: chat.CodeInvalid, Message: message} }

func joinPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
