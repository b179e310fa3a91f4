package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
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
	return g.connect(ctx, "HTTP", host, uint16(port))
}

// connect resolves a host once and dials an address that was checked. The check is made again on
// the address that the socket really gets.
func (g *Gate) connect(ctx context.Context, method, host string, port uint16) (net.Conn, error) {
	record := Record{Method: method, Host: host, Port: port}
	refuse := func(err error) (net.Conn, error) {
		record.Refused = err.Error()
		g.audit(record)
		return nil, err
	}
	host, err := checkHost(host)
	if err != nil {
		return refuse(err)
	}
	record.Host = host
	if err := g.spend(host, 0); err != nil {
		return refuse(err)
	}
	addresses, err := g.resolve(ctx, host, port)
	if err != nil {
		return refuse(err)
	}
	dialer := net.Dialer{Timeout: dialTimeout, Control: g.control}
	var failures []error
	for _, a := range addresses {
		conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(a, port).String())
		if err == nil {
			record.Address = a
			return &metered{Conn: conn, gate: g, record: record}, nil
		}
		failures = append(failures, err)
	}
	return refuse(&chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf("connect to %s: %v", host, errors.Join(failures...))})
}

// resolve refuses a name of which any address is not allowed: an honest one has none.
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

// control sees the address that is dialled, whatever led there.
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
	gate     *Gate
	record   Record
	sent     atomic.Int64
	received atomic.Int64
	once     sync.Once
}

// Read implements net.Conn.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.received.Add(int64(n))
	if over := m.gate.spend(m.record.Host, n); over != nil {
		return 0, over
	}
	return n, err
}

// Write implements net.Conn. What would go over the budget is not sent.
func (m *metered) Write(p []byte) (int, error) {
	if err := m.gate.spend(m.record.Host, len(p)); err != nil {
		return 0, err
	}
	n, err := m.Conn.Write(p)
	m.sent.Add(int64(n))
	return n, err
}

// CloseWrite tells the other side that nothing more comes.
func (m *metered) CloseWrite() error {
	if half, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements net.Conn.
func (m *metered) Close() error {
	m.once.Do(func() {
		m.record.Sent, m.record.Received = m.sent.Load(), m.received.Load()
		m.gate.audit(m.record)
	})
	return m.Conn.Close()
}
