// Package egress decides where a request may go.
//
// A Gate holds a policy that denies by default. Names are resolved once, every address they resolve
// to is checked, and the address that was checked is the one dialled. The same gate serves our own
// tools, as an HTTP client, and programs in a sandbox, as a proxy on a unix socket.
//
// The package imports the standard library and, for errors, chat. It reads no environment variable.
package egress

import (
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
	// Audit is called once for every request that was refused and every connection that ended.
	Audit func(Record)
}

// Rule allows requests to a host.
type Rule struct {
	Host string // a name, an address, *.name for all names below it, or * for all
	// Ports are 80 and 443 when empty.
	Ports []uint16
	// Methods and PathPrefix narrow the rule. What they say cannot be seen in an encrypted tunnel,
	// so such a rule opens none.
	Methods    []string
	PathPrefix string
}

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Record is what is known of a request that was refused or of a connection that has ended. It names
// no path: a path can carry a secret.
type Record struct {
	Method   string // CONNECT for a tunnel
	Host     string
	Port     uint16
	Address  netip.Addr // zero when none was dialled
	Refused  string     // why, and empty when it was not
	Sent     int64
	Received int64
}

// Gate enforces a policy. It is safe for concurrent use.
type Gate struct {
	policy    Policy
	transport *http.Transport

	mu    sync.Mutex
	spent map[string]int64
}

const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 30 * time.Second
	maxRedirects  = 5
	// maxHeaderBytes is what the headers of an answer may take.
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
	g := &Gate{policy: policy, spent: map[string]int64{}}
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
	return g, nil
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

// admit holds a request against the rules, and says so to the audit when it is refused.
func (g *Gate) admit(r *http.Request) error {
	host, port, err := g.target(r.URL)
	if err == nil {
		err = g.allowed(r.Method, host, port, r.URL.EscapedPath())
	}
	if err == nil && r.Host != "" && !sameHost(r.Host, r.URL.Host) {
		err = denied("the Host header differs from the address")
	}
	if err != nil {
		g.audit(Record{Method: r.Method, Host: host, Port: port, Refused: err.Error()})
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

// underPrefix compares whole parts of a path. What a server might read as another path is under
// none.
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

func (g *Gate) audit(r Record) {
	if g.policy.Audit != nil {
		g.policy.Audit(r)
	}
}

// spend takes bytes off the budget of a host, and refuses when it is used up.
func (g *Gate) spend(host string, bytes int) error {
	if g.policy.Budget <= 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.spent[host] += int64(bytes); g.spent[host] > g.policy.Budget {
		return &chat.Error{Code: chat.CodeLimit, Message: fmt.Sprintf(
			"%s has had its %d bytes", host, g.policy.Budget)}
	}
	return nil
}

func denied(message string) error { return &chat.Error{Code: chat.CodeDenied, Message: message} }

func invalid(message string) error { return &chat.Error{Code: chat.CodeInvalid, Message: message} }

func joinPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
