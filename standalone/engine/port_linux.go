package engine

import (
	"errors"
	"net/netip"
	"os"
	"syscall"
)

// heldWhileListening says that the server can listen on a port that is held: on Linux a socket that
// is bound and does not listen keeps the port from programs that ask for any free one, and yields
// to a listener that names it.
const heldWhileListening = true

func hold(at netip.AddrPort) (port uint16, free func(), err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	free = func() { _ = syscall.Close(socket) } // nothing was written
	port, err = bind(socket, at)
	if err != nil {
		free()
		return 0, nil, err
	}
	return port, free, nil
}

func bind(socket int, at netip.AddrPort) (uint16, error) {
	err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	err = syscall.Bind(socket, &syscall.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())})
	if err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	bound, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return 0, errors.New("a socket for IPv4 has another address")
	}
	return uint16(bound.Port), nil
}
