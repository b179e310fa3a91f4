package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// maxConnections is how many a sandbox may have open through its proxy.
	maxConnections = 128
	maxHeader      = 64 << 10
	// idleTunnel ends a tunnel over which nothing has gone for as long.
	idleTunnel = 5 * time.Minute
)

// Listen opens the unix socket of a proxy, for this user only.
func Listen(path string) (net.Listener, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for programs: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), listener.Close())
	}
	return listener, nil
}

// Serve is an HTTP proxy for programs in a sandbox, until the context ends. It closes the listener.
func (g *Gate) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           proxy{gate: g, places: make(chan struct{}, maxConnections)},
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve programs: %w", err)
	}
	return nil
}

type proxy struct {
	gate   *Gate
	places chan struct{}
}

// ServeHTTP implements http.Handler.
func (p proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	default:
		refuse(w, &chat.Error{Code: chat.CodeLimit, Message: "too many connections at once"})
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.pass(w, r)
	default:
		refuse(w, invalid("this is a proxy: ask for a whole http address, or for a tunnel"))
	}
}

// pass carries a plain request. A redirect goes back to the program, whose next request is checked.
func (p proxy) pass(w http.ResponseWriter, r *http.Request) {
	err := p.gate.admit(r)
	if err == nil {
		err = p.gate.leakingHeader(r.Header)
	}
	if err == nil {
		r.Body, err = p.gate.watched(r.Body)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	reverse := httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			for name := range out.Out.Header {
				if strings.HasPrefix(name, "Proxy-") {
					out.Out.Header.Del(name)
				}
			}
			out.Out.Header.Del("Upgrade") // would turn the connection into one that nobody reads along
			out.Out.Header.Del("Connection")
		},
		Transport:    p.gate.transport,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	reverse.ServeHTTP(w, r)
}

// tunnel connects and then carries bytes both ways. The bytes are encrypted, so only rules
// without method and path open one.
func (p proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := p.gate.tunnelTarget(r)
	if err == nil {
		err = p.gate.leak("address", r.Host)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	outer, err := p.gate.connect(r.Context(), host, port)
	if err != nil {
		refuse(w, err)
		return
	}
	defer func() { _ = outer.Close() }()
	inner, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, err)
		return
	}
	defer func() { _ = inner.Close() }()
	stop := context.AfterFunc(r.Context(), func() { _ = inner.Close() })
	defer stop()
	if _, err := io.WriteString(inner, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	ended := make(chan struct{}, 2)
	go carry(outer, inner, p.gate.seen(buffered.Reader), ended)
	go carry(inner, outer, outer, ended)
	<-ended
	<-ended
}

func (g *Gate) tunnelTarget(r *http.Request) (string, uint16, error) {
	name, text, err := net.SplitHostPort(r.Host)
	if err != nil {
		return "", 0, invalid("a tunnel needs a host and a port")
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", 0, invalid("the port is none")
	}
	port := uint16(number)
	host, err := checkHost(name)
	if err != nil {
		return host, port, err
	}
	for _, rule := range g.policy.Allow {
		if len(rule.Methods) == 0 && rule.PathPrefix == "" && rule.allows(http.MethodConnect, host, port, "") {
			return host, port, nil
		}
	}
	return host, port, denied(fmt.Sprintf("no rule allows a tunnel to %s, port %d", host, port))
}

// carry copies one direction. Either end closes when nothing has come for long.
func carry(to, from net.Conn, reader io.Reader, ended chan<- struct{}) {
	defer func() { ended <- struct{}{} }()
	buffer := make([]byte, 32<<10)
	for {
		if err := from.SetReadDeadline(time.Now().Add(idleTunnel)); err != nil {
			break
		}
		n, err := reader.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				break
			}
			if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
				return
			}
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	message := "the request could not be carried"
	if e, ok := errors.AsType[*chat.Error](err); ok {
		message = e.Message
		switch e.Code {
		case chat.CodeDenied:
			status = http.StatusForbidden
		case chat.CodeInvalid:
			status = http.StatusBadRequest
		case chat.CodeLimit:
			status = http.StatusTooManyRequests
		case chat.CodeNotFound, chat.CodeConflict, chat.CodeUnavailable, chat.CodeInternal:
		}
	}
	http.Error(w, "egress: "+message, status)
}
