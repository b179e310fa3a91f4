//go:build !linux

package engine

import (
	"net"
	"net/netip"
)

// heldWhileListening says that the server cannot listen on a port that is held: between the two
// another program may take it.
const heldWhileListening = false

func hold(at netip.AddrPort) (port uint16, free func(), err error) {
	listener, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return 0, nil, err
	}
	bound, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return 0, nil, err
	}
	return bound.Port(), func() { _ = listener.Close() }, nil // nothing was accepted
}
