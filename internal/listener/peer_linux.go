package listener

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerOf is the user at the other end of a socket, as the kernel knows it.
func peerOf(conn net.Conn) (int, error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, errors.New("not a socket")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	uid := -1
	var failure error
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if failure = err; err == nil {
			uid = int(cred.Uid)
		}
	})
	return uid, errors.Join(err, failure)
}
