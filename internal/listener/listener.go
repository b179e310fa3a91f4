package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/config"
)

const (
	// The times of a connection. Streams set their own time for each piece that they write.
	headerTime  = 5 * time.Second
	readTime    = 30 * time.Second
	writeTime   = 30 * time.Second
	idleTime    = 2 * time.Minute
	maxHeaders  = 32 << 10
	mostStreams = 100 // of one connection, with HTTP/2
	// LongestSocket is the longest path of a socket that the kernel takes.
	LongestSocket = 100
	// SocketName is the socket in the data folder through which the same user comes in without a token.
	SocketName = "retinue.sock"
)

// NewServer is an HTTP server with all its bounds.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeaders, DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: mostStreams},
	}
}

// Open opens the address, or the usual one when nothing is said. A server that may move takes
// any other when the usual one is taken.
func Open(ctx context.Context, address, usual string, moves bool) (net.Listener, error) {
	var config net.ListenConfig
	moves = moves && address == ""
	if address == "" {
		address = usual
	}
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil && moves {
		l, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, taken("serve.address", address)
	}
	if err != nil {
		return nil, fmt.Errorf("serve.address: %w", err)
	}
	return l, nil
}

// taken is the error of an address that something else listens on.
func taken(setting, address string) error {
	return fmt.Errorf("%s: %s is taken: end what listens there, or choose another by --set %s=127.0.0.1:PORT", setting, address, setting)
}

// LoopbackOnly refuses an address that others than this machine can reach.
func LoopbackOnly(address string) error {
	host, _, err := net.SplitHostPort(address)
	if address == "" || host == "localhost" {
		return nil
	}
	if err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
			return nil
		}
	}
	return fmt.Errorf("serve.address: %s can be reached from other machines, and without logins anyone who has the one token owns "+
		"everything: use 127.0.0.1:PORT, or set up logins", address)
}

// Certificate reads what the server shows to be the one it says; nil without one.
func Certificate(s config.TLS) (*tls.Config, error) {
	if s.Cert == "" && s.Key == "" {
		return nil, nil //nolint:nilnil // no TLS is a choice, not a fault
	}
	pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		return nil, fmt.Errorf("serve.tls: %w", err)
	}
	// The protocols are named because the server also listens on a socket without TLS: whichever of the
	// two began first would decide whether it understands HTTP/2, while clients were promised it in any
	// case.
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}, nil
}

// OpenSocket listens where only the user that this process runs as comes in. It is nil where the
// path is too long for a socket, and where another server of the same folder has it.
func OpenSocket(ctx context.Context, dir string) (net.Listener, error) {
	path := filepath.Join(dir, SocketName)
	if len(path) > LongestSocket {
		return nil, nil //nolint:nilnil // there is the token
	}
	if taken, err := clearSocket(ctx, path); taken || err != nil {
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), l.Close())
	}
	return peers{Listener: l, uid: os.Getuid()}, nil
}

// clearSocket removes a socket that nobody listens on, and reports whether somebody does. It leaves
// a file that is no socket alone.
func clearSocket(ctx context.Context, path string) (taken bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return false, fmt.Errorf("%s is no socket: find out who put it there, then remove it", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	if conn, err := dialer.DialContext(ctx, "unix", path); err == nil {
		return true, conn.Close()
	}
	if err := os.Remove(path); err != nil {
		return false, fmt.Errorf("remove an old socket: %w", err)
	}
	return false, nil
}

// peers takes connections of one user only.
type peers struct {
	net.Listener
	uid int
}

// Accept implements net.Listener.
func (p peers) Accept() (net.Conn, error) {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peerOf(conn); err == nil && uid == p.uid {
			return peer{Conn: conn}, nil
		}
		_ = conn.Close() // the client hears nothing
	}
}

// peer is a connection of the same user.
type peer struct{ net.Conn }

// MarkPeer lets the authenticator know of such a connection.
func MarkPeer(ctx context.Context, conn net.Conn) context.Context {
	if _, ok := conn.(peer); ok {
		return identity.WithPeer(ctx)
	}
	return ctx
}

// Hosts are the names that a server goes by.
func Hosts(public string) []string {
	hosts := []string{"127.0.0.1", "::1", "localhost"}
	if public != "" {
		hosts = append(hosts, strings.ToLower(public))
	}
	return hosts
}
