package app

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
	// HealthAddress is where 'retinue serve' tells how it is when nothing is said.
	HealthAddress = "127.0.0.1:7434"
	// readyFor is how long an answer to whether the server is ready holds, and readyTime how long
	// finding out may take.
	readyFor  = time.Second
	readyTime = 3 * time.Second
)

// readiness finds out whether everything that a server needs is there, at most once in a while.
type readiness struct {
	checks map[string]func(context.Context) error
	now    func() time.Time

	mu    sync.Mutex
	at    time.Time
	found map[string]string
	// closing means that the server takes on nothing new.
	closing bool
}

// look returns what is wrong, by what it is wrong with; an empty text means that it is fine.
func (r *readiness) look(ctx context.Context) (map[string]string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return map[string]string{"server": "stops"}, false
	}
	if r.now().Sub(r.at) > readyFor {
		r.found, r.at = r.check(ctx), r.now()
	}
	ready := true
	for _, fault := range r.found {
		ready = ready && fault == ""
	}
	return r.found, ready
}

// check runs all checks side by side.
func (r *readiness) check(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
	defer cancel()
	found := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, check := range r.checks {
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

// close lets load balancers know that the server takes on nothing new.
func (r *readiness) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
}

// health answers on a port of its own: whether the process lives, whether it can work, and its
// figures.
type health struct {
	server *http.Server
	// URL is where it is.
	URL string
}

// openHealth listens for those who look after the server.
func openHealth(ctx context.Context, address string, r *readiness, m *telemetry.Metrics, profile profiling) (*health, error) {
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
		found, ready := r.look(req.Context())
		w.Header().Set("Content-Type", "application/json")
		if !ready {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ready": ready, "checks": found}) // as above
	})
	mux.Handle("GET /metrics", m.Handler())
	if profile == profileOn {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	h := &health{URL: "http://" + listener.Addr().String(), server: newServer(plain(mux))}
	h.server.WriteTimeout = 2 * time.Minute // a profile takes as long as it is asked to
	go func() { _ = h.server.Serve(listener) }()
	return h, nil
}

// profiling says whether profiles are served.
type profiling string

const (
	profileOff profiling = ""
	profileOn  profiling = "on"
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
func (h *health) Close() error {
	if err := h.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
