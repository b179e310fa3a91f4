package doctor

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
)

// reach opens a connection to an address, closes it again and reports whether it could.
func (d *doctor) reach(ctx context.Context, check, address, advice string) bool {
	network, at, err := endpoint(address)
	if err != nil {
		d.say(Fail, check, err.Error(), advice)
		return false
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, network, at)
	if err != nil {
		d.say(Fail, check, "cannot reach "+at+": "+reason(err), advice)
		return false
	}
	_ = conn.Close() // that it opened is all we wanted to know
	d.say(OK, check, at+" is reachable", "")
	return true
}

// reason is the innermost part of a network error, which has the address in all the others.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// usualPorts are those of the schemes and servers that doctor meets.
var usualPorts = map[string]string{
	"http": "80", "https": "443", "postgres": "5432", "postgresql": "5432", "nats": "4222", "tls": "4222",
}

// endpoint finds the network and address to dial in a URL, host:port, or a list of key=value. It
// never repeats its argument, which may contain a password.
func endpoint(address string) (network, at string, err error) {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		port := u.Port()
		if port == "" {
			port = usualPorts[u.Scheme]
		}
		return "tcp", net.JoinHostPort(u.Hostname(), port), nil
	}
	if host, port, err := net.SplitHostPort(address); err == nil {
		return "tcp", net.JoinHostPort(host, port), nil
	}
	values := map[string]string{"host": "127.0.0.1", "port": usualPorts["postgres"]}
	said := false
	for _, word := range strings.Fields(address) {
		if key, value, ok := strings.Cut(word, "="); ok {
			values[key], said = value, true
		}
	}
	if !said {
		return "", "", errors.New("the address is neither a URL nor host:port nor key=value")
	}
	if strings.HasPrefix(values["host"], "/") {
		return "unix", filepath.Join(values["host"], ".s.PGSQL."+values["port"]), nil
	}
	return "tcp", net.JoinHostPort(values["host"], values["port"]), nil
}

// onThisHost reports whether an address can be reached from this machine alone.
func onThisHost(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
