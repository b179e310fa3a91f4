package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/listener"
	"github.com/retinue-dev/retinue/internal/telemetry"
)

// Private is the API of a node for the commands of its own process. Nobody else can reach it.
type Private struct {
	Client *client.Client

	api    *api.Server
	server *http.Server
	pipes  *pipes
	served sync.WaitGroup
}

// Private serves the API to this process. By is the person whose commands come through it.
func (n *Node) Private(ctx context.Context, by, workspace, version string) (*Private, error) {
	options, err := n.apiOptions(FrontOptions{Workspace: workspace, Version: version}, telemetry.NewMetrics())
	if err != nil {
		return nil, err
	}
	local := identity.Local{Tenant: LocalTenant, User: by}
	options.Authenticator, options.Local = local, &local
	p := &Private{api: api.New(options), pipes: &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}}
	p.server = listener.NewServer(p.api)
	p.server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return identity.WithPeer(ctx) }
	p.server.ErrorLog = slog.NewLogLogger(n.options.Logger.Handler(), slog.LevelDebug)
	p.Client = client.Over(p.pipes.dial)
	p.served.Go(func() { _ = p.server.Serve(p.pipes) }) // it ends when it is closed
	return p, ctx.Err()
}

// Close ends the streams and lets requests finish.
func (p *Private) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), privateStop)
	defer cancel()
	p.api.Close()
	err := p.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, p.server.Close())
	}
	p.served.Wait()
	return err
}

// privateStop is how long the requests of this process may take when it ends.
const privateStop = 5 * time.Second

// pipes is a listener whose connections come from this process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// dial makes a connection and returns the caller's end of it.
func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (*pipes) Addr() net.Addr { return pipeAddr{} }

// pipeAddr is the address of a connection within this process.
type pipeAddr struct{}

// Network implements net.Addr.
func (pipeAddr) Network() string { return "pipe" }

// String implements net.Addr.
func (pipeAddr) String() string { return "pipe" }
