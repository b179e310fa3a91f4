package porttest

import (
	"errors"
	"os"
	"syscall"
)

// hold binds a socket that does not listen: on Linux it keeps the port from everybody who asks for
// a free one, and gives way to a listener that names it and, as is usual, may use an address again.
func hold() (port int, free func(), err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	free = func() { _ = syscall.Close(socket) } // nothing was written
	if port, err = bind(socket); err != nil {
		free()
		return 0, nil, err
	}
	return port, free, nil
}

func bind(socket int) (int, error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
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
	return bound.Port, nil
}
