package listener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/telemetry"
)

const (
	// readyFor is how long an answer to whether the server is ready holds, and readyTime how long
	// finding out may take.
	readyFor  = time.Second
	readyTime = 3 * time.Second
)

// Readiness finds out whether everything that a server needs is there, at most once in a while.
type Readiness struct {
	// Checks are what is looked at, by name.
	Checks map[string]func(context.Context) error
	Now    func() time.Time

	mu    sync.Mutex
	at    time.Time
	found map[string]string
	// closing means that the server takes on nothing new.
	closing bool
}

// Look returns what is wrong, by what it is wrong with; an empty text means that it is fine.
func (r *Readiness) Look(ctx context.Context) (map[string]string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return map[string]string{"server": "stops"}, false
	}
	if r.Now().Sub(r.at) > readyFor {
		r.found, r.at = r.check(ctx), r.Now()
	}
	ready := true
	for _, fault := range r.found {
		ready = ready && fault == ""
	}
	return r.found, ready
}

// check runs all checks side by side.
func (r *Readiness) check(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
	defer cancel()
	found := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, check := range r.Checks {
		all.Go(func() {
			fault := ""
			if err := check(ctx); err != nil {
				fault = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			found[name] = fault
		})
	}
	all.Wait()
	return found
}

// Close lets load balancers know that the server takes on nothing new.
func (r *Readiness) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
}

// Health answers on a port of its own: whether the process lives, whether it can work, and its
// figures.
type Health struct {
	server *http.Server
	// URL is where it is.
	URL string
}

// OpenHealth listens for those who look after the server.
func OpenHealth(ctx context.Context, address string, r *Readiness, m *telemetry.Metrics, profile Profiling) (*Health, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, taken("serve.health", address)
	}
	if err != nil {
		return nil, fmt.Errorf("serve.health: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("alive\n")) // who does not read it has gone
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		found, ready := r.Look(req.Context())
		w.Header().Set("Content-Type", "application/json")
		if !ready {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ready": ready, "checks": found}) // as above
	})
	mux.Handle("GET /metrics", m.Handler())
	if profile == ProfileOn {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	h := &Health{URL: "http://" + listener.Addr().String(), server: NewServer(plain(mux))}
	h.server.WriteTimeout = 2 * time.Minute // a profile takes as long as it is asked to
	go func() { _ = h.server.Serve(listener) }()
	return h, nil
}

// Profiling says whether profiles are served.
type Profiling string

// The ways to serve profiles: not at all, or to whoever reaches the port.
const (
	ProfileOff Profiling = ""
	ProfileOn  Profiling = "on"
)

// plain keeps browsers from making anything of an answer.
func plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Header.Get("Origin") != "" || (r.Header.Get("Sec-Fetch-Site") != "" && r.Header.Get("Sec-Fetch-Site") != "none") {
			http.Error(w, "not for pages", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Close stops at once: nobody's work is lost.
func (h *Health) Close() error {
	if err := h.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
