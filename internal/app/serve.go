package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/listener"
	"github.com/retinue-dev/retinue/internal/telemetry"
	"github.com/retinue-dev/retinue/web"
)

const (
	// ServeAddress is where a server listens when nothing is said.
	ServeAddress = "127.0.0.1:7433"
	// HealthAddress is where 'retinue serve' tells how it is when nothing is said.
	HealthAddress = "127.0.0.1:7434"
	// localPoll is the time between two looks for rows that another process of the machine wrote.
	localPoll = 250 * time.Millisecond
	// stopTime is how long requests may take to finish when a server stops.
	stopTime = 25 * time.Second
)

// Front is a server that listens.
type Front struct {
	// URL is where it is, and Token what lets a program of this machine in.
	URL   string
	Token string
	// Health is where it tells how it is; empty if it does not.
	Health string
	// Socket is where the same user comes in without a token; empty if there is none.
	Socket string
	// Failed is closed when the server can no longer be reached; Close says why.
	Failed <-chan struct{}

	browsers *identity.Browsers
	api      *api.Server
	server   *http.Server
	recorder *audit.Recorder
	hooks    *hooks
	health   *listener.Health
	ready    *listener.Readiness
	stop     context.CancelFunc
	serves   sync.WaitGroup
	mu       sync.Mutex
	fail     func()
	failed   error
}

// FrontOptions say what a server is for.
type FrontOptions struct {
	// Workspace is what conversations get that name none.
	Workspace string
	Version   string
	// Health is where it tells how it is when the settings do not say; empty means nowhere.
	Health string
	// Moves lets it take any port when the usual one is taken and the settings name none.
	Moves bool
}

// Serve lets people and programs in.
func (n *Node) Serve(ctx context.Context, o FrontOptions) (f *Front, err error) {
	settings := n.options.Loaded.Settings
	failed := make(chan struct{})
	f = &Front{stop: func() {}, Failed: failed, fail: sync.OnceFunc(func() { close(failed) })}
	if !settings.Shared() {
		if err := listener.LoopbackOnly(settings.Serve.Address); err != nil {
			return nil, err
		}
		if f.Token, err = localToken(settings.DataDir); err != nil {
			return nil, err
		}
	}
	secure, err := listener.Certificate(settings.Serve.TLS)
	if err != nil {
		return nil, err
	}
	tcp, err := listener.Open(ctx, settings.Serve.Address, ServeAddress, o.Moves)
	if err != nil {
		return nil, err
	}
	opened := f
	defer func() {
		if err != nil {
			err = errors.Join(err, tcp.Close(), opened.closeParts())
		}
	}()
	f.URL = "http://" + tcp.Addr().String()
	if secure != nil {
		f.URL = "https://" + tcp.Addr().String()
	}
	metrics := telemetry.NewMetrics()
	options, err := n.frontOptions(ctx, f, o, metrics)
	if err != nil {
		return nil, err
	}
	var carried commands
	if n.Trail != nil {
		if f.hooks, err = n.openHooks(ctx, o.Version); err != nil {
			return nil, err
		}
		f.recorder = audit.NewRecorder(n.Trail, time.Now)
		options.Audit, options.Trail, options.Webhooks = f.recorder, f.recorder, f.hooks
		carried = commands{node: n, workspace: o.Workspace, hooks: f.hooks}
		options.Commands = carried
	}
	f.api = api.New(options)
	n.Bridge(f.api, options)
	f.server = n.httpServer(f.api, secure)
	if err := n.openHealth(ctx, f, o, metrics); err != nil {
		return nil, err
	}
	socket, err := n.openSocket(ctx)
	if err != nil {
		return nil, err
	}
	n.watchBeside(ctx, f, carried)
	f.listen(tcp, socket, secure != nil, settings.DataDir)
	return f, nil
}

// httpServer is the server of the API's address and socket.
func (n *Node) httpServer(handler http.Handler, secure *tls.Config) *http.Server {
	s := listener.NewServer(handler)
	s.TLSConfig, s.ConnContext = secure, listener.MarkPeer
	s.ErrorLog = slog.NewLogLogger(n.options.Logger.Handler(), slog.LevelDebug)
	return s
}

// openSocket opens the socket of a server that one person has; others have none.
func (n *Node) openSocket(ctx context.Context) (net.Listener, error) {
	if settings := n.options.Loaded.Settings; !settings.Shared() {
		return listener.OpenSocket(ctx, settings.DataDir)
	}
	return nil, nil //nolint:nilnil // no socket is a choice, not a fault
}

// watchBeside starts the loops that run as long as the server: pressure, retention and the deletion
// of tenants.
func (n *Node) watchBeside(ctx context.Context, f *Front, carried commands) {
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	f.serves.Go(func() { n.pressure.watch(watch, n.Log) })
	if n.Trail != nil {
		f.serves.Go(func() { n.retain(watch, carried) })
		if n.people != nil {
			f.serves.Go(func() { n.deleteTenants(watch, carried) })
		}
	}
}

// listen serves the address and, if there is one, the socket.
func (f *Front) listen(tcp, socket net.Listener, secure bool, dir string) {
	if secure {
		f.serve(func() error { return f.server.ServeTLS(tcp, "", "") })
	} else {
		f.serve(func() error { return f.server.Serve(admission.Outright(tcp)) })
	}
	if socket != nil {
		f.Socket = filepath.Join(dir, listener.SocketName)
		f.serve(func() error { return f.server.Serve(socket) })
	}
}

// apiOptions are what any API of this node is made of. The caller says who may use it.
func (n *Node) apiOptions(o FrontOptions, metrics *telemetry.Metrics) (api.Options, error) {
	settings := n.options.Loaded.Settings
	proxies, err := n.proxies()
	if err != nil {
		return api.Options{}, err
	}
	options := api.Options{
		Options: admission.Options{
			Logger: n.options.Logger, Guesses: admission.LoginLimits{Proxies: proxies}, Hosts: listener.Hosts(""),
			Limits: limitsOf(settings), Pressed: n.pressure.pressed,
			Answered: metrics.Answered, Refused: func(why admission.Refusal) { metrics.Refused(string(why)) }, Reported: metrics.Reported,
		},
		Log: n.Log, Bus: n.Bus, Commands: commands{node: n, workspace: o.Workspace}, Roles: n.catalog,
		RetentionDays: settings.Retention.Days, Installation: installationView{node: n, workspace: o.Workspace},
		Budget: settings.Quotas.Month, Storage: settings.Quotas.Storage, TenantSlots: tenantSlots(settings),
		Redact: n.options.Vault.Redact, Version: o.Version,
	}
	if settings.Live.NATS.IsZero() {
		options.Poll = localPoll
	}
	return options, nil
}

// frontOptions are what the server is made of.
func (n *Node) frontOptions(ctx context.Context, f *Front, o FrontOptions, metrics *telemetry.Metrics) (api.Options, error) {
	options, err := n.apiOptions(o, metrics)
	if err != nil {
		return options, err
	}
	f.browsers = &identity.Browsers{Address: f.URL}
	local := identity.Local{Tenant: LocalTenant, User: localUser(), Token: f.Token, Browsers: f.browsers}
	options.Authenticator, options.Local = local, &local
	options.App, options.Secure = web.Pages(), strings.HasPrefix(f.URL, "https:")
	settings := n.options.Loaded.Settings
	if public := settings.Serve.URL; public != "" {
		u, err := url.Parse(public)
		if err != nil || u.Host == "" {
			return options, fmt.Errorf("serve.url: %q is no address such as https://retinue.example.org", public)
		}
		options.Hosts, options.Origin = listener.Hosts(u.Hostname()), u.Scheme+"://"+u.Host
		options.Secure = options.Secure || u.Scheme == "https"
	}
	if !settings.Shared() {
		return options, nil
	}
	f.URL = settings.Serve.URL
	return options, n.share(ctx, &options)
}

// openHealth tells how the server is, on a port of its own.
func (n *Node) openHealth(ctx context.Context, f *Front, o FrontOptions, metrics *telemetry.Metrics) (err error) {
	settings := n.options.Loaded.Settings.Serve
	f.ready = &listener.Readiness{
		Checks: map[string]func(context.Context) error{"journal": n.journalReady, "engine": n.engineReady}, Now: time.Now,
	}
	n.pressure.tell(metrics.Appended)
	n.figures(metrics, f.api)
	address := settings.Health
	if address == "" {
		address = o.Health
	}
	if address == "" {
		return nil
	}
	profile := listener.ProfileOff
	if settings.Profile {
		profile = listener.ProfileOn
	}
	f.health, err = listener.OpenHealth(ctx, address, f.ready, metrics, profile)
	if err == nil {
		f.Health = f.health.URL
	}
	return err
}

// serve serves the connections of a listener until the server is closed.
func (f *Front) serve(serve func() error) {
	f.serves.Go(func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.failed = errors.Join(f.failed, err)
			f.fail()
		}
	})
}

// Close lets requests end and takes no new ones.
func (f *Front) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	f.ready.Close()
	f.api.Close()
	err := f.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop the server: %w", err), f.server.Close())
	}
	f.stop()
	f.serves.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(err, f.failed, f.closeParts())
}

// closeParts lets go of what stands beside the server, as far as it was opened.
func (f *Front) closeParts() (err error) {
	if f.health != nil {
		err = f.health.Close()
	}
	if f.recorder != nil {
		f.recorder.Close()
	}
	if f.hooks != nil {
		err = errors.Join(err, f.hooks.Close())
	}
	return err
}

// Link is an address that lets one browser of this machine in, once.
func (f *Front) Link() string { return f.browsers.Link() }

// localToken is what lets programs of one person on this machine in. It is made once and kept where
// only they can read it. No browser ever has it.
func localToken(dir string) (string, error) {
	path := filepath.Join(dir, "api.token")
	if data, err := os.ReadFile(path); err == nil && len(strings.TrimSpace(string(data))) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	token := "rtl_" + rand.Text() + rand.Text()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the token: %w", err)
	}
	return token, nil
}

func localUser() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "you"
}
