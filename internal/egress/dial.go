package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"

	"github.com/retinue-dev/retinue/internal/chat"
)

// dial is the transport's: the request it belongs to was admitted before.
func (g *Gate) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, invalid("the address has no port")
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, invalid("the port is no number")
	}
	return g.connect(ctx, host, uint16(port))
}

// connect resolves a host once and dials an address that was checked. The check is made again on
// the address that the socket really gets.
func (g *Gate) connect(ctx context.Context, host string, port uint16) (net.Conn, error) {
	host, err := checkHost(host)
	if err != nil {
		return nil, err
	}
	to := Target{Host: host, Port: port}
	if err := g.spend(to, 0, 0); err != nil {
		return nil, err
	}
	addresses, err := g.resolve(ctx, host, port)
	if err != nil {
		return nil, err
	}
	if err := g.announce(ctx, to); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTimeout, Control: g.control}
	var failures []error
	for _, a := range addresses {
		conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(a, port).String())
		if err == nil {
			return &metered{Conn: conn, gate: g, to: to}, nil
		}
		failures = append(failures, err)
	}
	return nil, &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf("connect to %s: %v", host, errors.Join(failures...))}
}

// resolve refuses a name if any of its addresses is forbidden: an honest name has none of those.
func (g *Gate) resolve(ctx context.Context, host string, port uint16) ([]netip.Addr, error) {
	addresses := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, a)
	} else if addresses, err = g.policy.Resolver.LookupNetIP(ctx, "ip", host+"."); err != nil {
		return nil, &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf("find the address of %s: %v", host, err)}
	}
	if len(addresses) == 0 {
		return nil, &chat.Error{Code: chat.CodeUnavailable, Message: host + " has no address"}
	}
	addresses = slices.Clone(addresses)
	for i, a := range addresses {
		// Resolvers give IPv4 addresses in their IPv6 form; a literal of that form stays what it
		// is.
		if a.Is4In6() && a.Zone() == "" && host != a.String() {
			addresses[i] = a.Unmap()
		}
		if !g.reachable(netip.AddrPortFrom(addresses[i], port)) {
			return nil, denied(fmt.Sprintf("%s leads to %s, which is not public", host, a))
		}
	}
	return addresses, nil
}

func (g *Gate) reachable(a netip.AddrPort) bool {
	return Public(a.Addr()) || slices.Contains(g.policy.Local, a)
}

// control sees the address that is really dialled.
func (g *Gate) control(network, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || !g.reachable(a) {
		return denied(fmt.Sprintf("%s is not public", address))
	}
	return nil
}

// metered counts what goes over a connection and ends it when the budget of its host is used up.
type metered struct {
	net.Conn
	gate *Gate
	to   Target
}

// Read implements net.Conn.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if over := m.gate.spend(m.to, 0, n); over != nil {
		return 0, over
	}
	return n, err
}

// Write implements net.Conn. Bytes that would go over the budget are not sent.
func (m *metered) Write(p []byte) (int, error) {
	if err := m.gate.spend(m.to, len(p), 0); err != nil {
		return 0, err
	}
	return m.Conn.Write(p)
}

// CloseWrite tells the other side that nothing more comes.
func (m *metered) CloseWrite() error {
	if half, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
