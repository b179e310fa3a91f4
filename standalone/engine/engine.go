// Package engine is the workflow engine's server inside this process: Temporal on one SQLite file
// or on Postgres, on a loopback address, for callers that hold a certificate. It imports the server
// and nothing of ours, and knows nothing of agents. An engine that is killed and started again on
// the same store continues where it was.
package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"go.temporal.io/server/temporal"
)

// DefaultNamespace is where workflows live unless somebody says otherwise.
const DefaultNamespace = "retinue"

const (
	// patience is how long a start waits for the resources of a killed engine: file, port,
	// database.
	patience = 3 * time.Second
	// retryInterval is how often it looks meanwhile.
	retryInterval = 25 * time.Millisecond
	// readyTimeout is how long a server that was started may take to answer.
	readyTimeout = time.Minute
)

// Options say where an engine keeps its records and where it listens. One of SQLite and Postgres is
// needed, all else has a default.
type Options struct {
	// SQLite is a file, made when it is missing.
	SQLite string
	// Postgres is a URL. The database that it names, and one with _visibility after the same name,
	// are made when they are missing.
	Postgres string
	// Listen is an IPv4 loopback address; port 0, the default, picks a free one.
	Listen string
	// Server is the engine's certificate and the callers that it accepts. With Client its
	// components call each other, and the namespace is made. Both are needed: the engine accepts
	// only callers that it knows.
	Server, Client *tls.Config `json:"-"`
	// Namespace is made when it is missing; DefaultNamespace if empty.
	Namespace string
	// Log takes the server's log; the default writes warnings and errors to stderr.
	Log *slog.Logger
}

// Engine is a server that runs.
type Engine struct {
	// Address is where clients find it, host and port.
	Address string
	// Namespace is the one that was asked for.
	Namespace string
	// Store says where its records are, without secrets.
	Store string

	secure secure
	server temporal.Server
	store  store
	log    serverLog
}

// Start brings an engine up and returns when workflows can be started on it. The context limits the
// start only.
func Start(ctx context.Context, o Options) (*Engine, error) {
	listen, err := o.complete()
	if err != nil {
		return nil, err
	}
	log := newServerLog(o.Log)
	s, err := openStore(ctx, o, log)
	if err != nil {
		return nil, err
	}
	e := &Engine{Namespace: o.Namespace, Store: s.name, secure: secure{server: o.Server, client: o.Client}, store: s, log: log}
	if err := e.serve(ctx, listen); err != nil {
		return nil, errors.Join(err, s.release())
	}
	log.steady.Store(true)
	return e, nil
}

// Stop ends the engine in good order and gives its store free.
func (e *Engine) Stop() error {
	e.log.steady.Store(false)
	err := e.server.Stop()
	if err != nil {
		err = fmt.Errorf("stop the engine: %w", err)
	}
	return errors.Join(err, e.store.release())
}

// complete fills in defaults and refuses what cannot work.
func (o *Options) complete() (netip.AddrPort, error) {
	if (o.SQLite == "") == (o.Postgres == "") {
		return netip.AddrPort{}, errors.New("an engine has one store: name a SQLite file or a Postgres URL")
	}
	if o.Server == nil || o.Client == nil {
		return netip.AddrPort{}, errors.New("an engine has certificates: name those that it and its callers show")
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Log == nil {
		level := &slog.HandlerOptions{Level: slog.LevelWarn}
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, level))
	}
	listen, err := netip.ParseAddrPort(o.Listen)
	if err != nil || !listen.Addr().Is4() || !listen.Addr().IsLoopback() {
		return listen, fmt.Errorf("listen on %q: the engine is for this machine and takes only "+
			"a loopback address, such as 127.0.0.1:7233", o.Listen)
	}
	return listen, nil
}

// serve starts the server between the ports that are held for it and waits until it answers.
func (e *Engine) serve(ctx context.Context, listen netip.AddrPort) error {
	ports, err := holdPorts(ctx, listen)
	if err != nil {
		return err
	}
	defer ports.free()
	e.Address = ports.address(frontend)
	e.server, err = newServer(e.store, ports, e.secure, e.log)
	if err != nil {
		return fmt.Errorf("build the engine: %w", err)
	}
	if !heldWhileListening {
		ports.free()
	}
	if err := e.server.Start(); err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := e.prepareNamespace(ctx); err != nil {
		return errors.Join(err, e.server.Stop())
	}
	return nil
}

// insist tries until it works, the failure is another than the one to be waited out, or patience
// ends.
func insist(ctx context.Context, passing error, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for {
		err := try()
		if err == nil || !errors.Is(err, passing) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
