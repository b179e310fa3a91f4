package scripted

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a Model that listens on a loopback address.
type Server struct {
	*Model
	listener net.Listener
	http     *http.Server
	done     chan error
}

// headerTimeout is how long a client may take to send the headers of a request.
const headerTimeout = 10 * time.Second

// Listen begins to serve a model. Port 0 picks a free one. An address that other machines can reach
// is refused: the model keeps no secret and checks nobody's identity.
func Listen(address string, m *Model) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("listen on %s: not a loopback address", address), listener.Close())
	}
	s := &Server{
		Model: m, listener: listener, done: make(chan error, 1),
		http: &http.Server{Handler: m, ReadHeaderTimeout: headerTimeout},
	}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// AnthropicURL is the base URL for Anthropic's SDKs.
func (s *Server) AnthropicURL() string { return "http://" + s.listener.Addr().String() }

// OpenAIURL is the base URL for OpenAI's SDKs.
func (s *Server) OpenAIURL() string { return s.AnthropicURL() + "/v1" }

// Close ends the server at once, together with everything it is sending.
func (s *Server) Close() error {
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Shutdown waits for the responses under way until ctx is over, then closes.
func (s *Server) Shutdown(ctx context.Context) error {
	_ = s.http.Shutdown(ctx) // the remaining connections are closed next
	return s.Close()
}

// Refused is a base URL where nobody listens: fault L1.
const Refused = "http://127.0.0.1:1"

// ListenReset listens for TLS and tears every connection down after the client's first bytes: fault
// L2. It returns its base URL and what ends it.
func ListenReset() (string, func() error, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen: %w", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = conn.Read(make([]byte, 16)) // the client's text does not matter
				abort(conn)
			}()
		}
	}()
	return "https://" + listener.Addr().String(), listener.Close, nil
}
