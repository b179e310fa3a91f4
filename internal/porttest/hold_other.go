//go:build !linux

package porttest

import (
	"errors"
	"net"
)

// hold finds a free port. Other systems than Linux have no way to keep it from others and let
// somebody listen there.
func hold() (port int, free func(), err error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	bound, ok := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil {
		return 0, nil, err
	}
	if !ok {
		return 0, nil, errors.New("a listener has another address")
	}
	return bound.Port, func() {}, nil
}
