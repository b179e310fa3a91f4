package toolbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/egress"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/web"
)

// usualPorts are those of the schemes of pages.
var usualPorts = map[string]string{"http": "80", "https": "443"}

// Pages are the tools for the web that the settings allow: none without hosts, no search without a
// key.
func Pages(s config.Web, lookup func(string) (string, bool)) ([]tool.Tool, error) {
	if len(s.Hosts)+len(s.Local) == 0 {
		return nil, nil
	}
	policy, err := webPolicy(s)
	if err != nil {
		return nil, err
	}
	reader, err := newFetcher(policy)
	if err != nil {
		return nil, fmt.Errorf("web.hosts: %w", err)
	}
	engine, err := searcher(s, policy.Local, lookup)
	if err != nil {
		return nil, err
	}
	return web.Tools(reader, engine), nil
}

// webBudget is how many bytes one call of a web tool may exchange with a host. Pages have a smaller
// bound of their own, so it holds only what goes wrong below them.
const webBudget = 16 << 20

// fetcher sends requests that a policy allows. It follows no redirects: the tools ask for each
// anew.
type fetcher struct{ gate *egress.Gate }

func newFetcher(policy egress.Policy) (fetcher, error) {
	policy.Budget = webBudget
	gate, err := egress.New(policy)
	return fetcher{gate}, err
}

// Do implements web.Fetcher. The connection belongs to the call: it ends with the answer's body.
func (f fetcher) Do(request *http.Request) (*http.Response, error) {
	gate, finish := recorded(request.Context(), f.gate)
	client := gate.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(request)
	if err != nil {
		finish()
		return nil, err
	}
	response.Body = &lastRead{ReadCloser: response.Body, closed: finish}
	return response, nil
}

// lastRead does something when a body is closed.
type lastRead struct {
	io.ReadCloser
	closed func()
	once   sync.Once
}

// Close implements io.Closer.
func (l *lastRead) Close() error {
	err := l.ReadCloser.Close()
	l.once.Do(l.closed)
	return err
}

// recorded is a gate for one call, with a budget of its own. Its traffic is on the call's record
// after finish.
func recorded(ctx context.Context, gate *egress.Gate) (own *egress.Gate, finish func()) {
	traffic := tool.TrafficOf(ctx)
	own = gate.For(func(ctx context.Context, to egress.Target) error { return traffic.Reach(ctx, to.Host, to.Port) }, traffic.Leaks())
	return own, func() {
		own.Close()
		for _, t := range own.Traffic() {
			traffic.Add(tool.Host{Name: t.Host, Port: t.Port, Sent: t.Sent, Received: t.Received})
		}
	}
}

// webPolicy allows to read from the hosts of the settings. A local server is allowed by its
// address.
func webPolicy(s config.Web) (egress.Policy, error) {
	var policy egress.Policy
	for _, host := range s.Hosts {
		rule := egress.Rule{Host: host}
		if name, text, ok := strings.Cut(host, ":"); ok {
			port, err := strconv.ParseUint(text, 10, 16)
			if err != nil {
				return policy, fmt.Errorf("web.hosts: %q has a port that is none", host)
			}
			rule = egress.Rule{Host: name, Ports: []uint16{uint16(port)}}
		}
		rule.Methods = []string{http.MethodGet}
		policy.Allow = append(policy.Allow, rule)
	}
	for _, text := range s.Local {
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			return policy, fmt.Errorf("web.local: %w", err)
		}
		policy.Local = append(policy.Local, at)
		policy.Allow = append(policy.Allow, egress.Rule{
			Host: at.Addr().String(), Ports: []uint16{at.Port()}, Methods: []string{http.MethodGet},
		})
	}
	return policy, nil
}

// searcher is the search engine of the settings, nil if its key is not there: doctor says so. Its
// client reaches nothing else, and no other client has the key.
func searcher(s config.Web, local []netip.AddrPort, lookup func(string) (string, bool)) (web.Searcher, error) {
	key, err := s.Search.Key.Reveal(lookup)
	if err != nil || key == "" {
		return nil, nil //nolint:nilnil,nilerr // without a key there is no search
	}
	at, err := url.Parse(s.Search.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("web.search.base_url: %w", err)
	}
	port := at.Port()
	if port == "" {
		port = usualPorts[at.Scheme]
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("web.search.base_url: %w", err)
	}
	if own, err := netip.ParseAddrPort(net.JoinHostPort(at.Hostname(), port)); err == nil {
		local = append(local, own) // a person who writes an address into the settings means it
	}
	client, err := newFetcher(egress.Policy{
		Allow: []egress.Rule{{Host: at.Hostname(), Ports: []uint16{uint16(number)}, Methods: []string{http.MethodPost}}},
		Local: local,
	})
	if err != nil {
		return nil, fmt.Errorf("web.search.base_url: %w", err)
	}
	return web.NewTavily(client, at.JoinPath("search").String(), key), nil
}
