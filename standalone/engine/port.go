package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"go.temporal.io/server/common/primitives"
)

// frontend is the part of the server that clients speak to.
const frontend = primitives.FrontendService

// services are the server's components; each listens on a port of its own.
var services = []primitives.ServiceName{
	frontend, primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
}

// held are ports that nobody else gets while the server makes its way to them.
type held struct {
	at    map[primitives.ServiceName]netip.AddrPort
	frees []func()
}

// holdPorts takes the port asked for, or a free one, and free ones for the components that only the
// server itself calls.
func holdPorts(ctx context.Context, listen netip.AddrPort) (*held, error) {
	h := &held{at: map[primitives.ServiceName]netip.AddrPort{}}
	for _, name := range services {
		wanted := listen
		if name != frontend {
			wanted = netip.AddrPortFrom(listen.Addr(), 0)
		}
		err := insist(ctx, syscall.EADDRINUSE, func() error {
			port, free, err := hold(wanted)
			if err == nil {
				h.at[name] = netip.AddrPortFrom(listen.Addr(), port)
				h.frees = append(h.frees, free)
			}
			return err
		})
		if errors.Is(err, syscall.EADDRINUSE) {
			err = errors.New("another program listens there: end it, or choose another port")
		}
		if err != nil {
			h.free()
			return nil, fmt.Errorf("listen on %s: %w", wanted, err)
		}
	}
	return h, nil
}

func (h *held) address(name primitives.ServiceName) string { return h.at[name].String() }

func (h *held) free() {
	for _, free := range h.frees {
		free()
	}
	h.frees = nil
}
