package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admin"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/egress"
	"github.com/retinue-dev/retinue/internal/webhook"
	webhookstore "github.com/retinue-dev/retinue/internal/webhook/store"
)

// hookPorts are the ports of public receivers.
var hookPorts = []uint16{443, 8443}

// schemePorts are the ports of addresses that name none.
var schemePorts = map[string]string{"http": "80", "https": "443"}

// hooks tells other programs what happens, as long as a server runs. All servers of an installation
// share the work.
type hooks struct {
	*webhookstore.Store
	local  []netip.AddrPort
	feeder *webhook.Feeder
	gate   *egress.Gate
	stop   context.CancelFunc
	group  sync.WaitGroup
}

// openHooks begins to send webhooks.
func (n *Node) openHooks(ctx context.Context, version string) (h *hooks, err error) {
	settings := n.options.Loaded.Settings
	h = &hooks{}
	policy := egress.Policy{Allow: []egress.Rule{{Host: "*", Ports: hookPorts, Methods: []string{http.MethodPost}}}}
	for _, text := range settings.Webhooks.Local {
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			return nil, fmt.Errorf("webhooks.local: %w", err)
		}
		policy.Local = append(policy.Local, at)
		policy.Allow = append(policy.Allow, egress.Rule{
			Host: at.Addr().String(), Ports: []uint16{at.Port()}, Methods: []string{http.MethodPost},
		})
	}
	h.local = policy.Local
	if h.gate, err = egress.New(policy); err != nil {
		return nil, err
	}
	keys, err := n.sealingKeys()
	if err != nil {
		return nil, err
	}
	if settings.Journal.DSN.IsZero() {
		h.Store, err = webhookstore.OpenSQLite(ctx, webhooksPath(settings), keys)
	} else {
		var dsn string
		if dsn, err = settings.Journal.DSN.Reveal(n.options.Lookup); err == nil {
			h.Store, err = webhookstore.OpenPostgres(ctx, dsn, "", keys)
		}
	}
	if err != nil {
		return nil, err
	}
	sender := webhook.NewSender(webhook.SenderOptions{
		Outbox: h.Store, Log: n.Log, Events: admin.WebhookEvent, Client: h.gate.Client(), Now: time.Now, Logger: n.options.Logger,
		Agent: "retinue/" + version,
	})
	h.feeder = webhook.NewFeeder(webhook.FeederOptions{
		Places: h.Store, Book: h.Store, Log: n.Log, Events: admin.WebhookEvent, Now: time.Now, Logger: n.options.Logger, Fed: sender.Wake,
	})
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	h.group.Go(func() { h.feeder.Run(run) })
	h.group.Go(func() { sender.Run(run) })
	return h, nil
}

// webhooksPath is where webhooks are kept beside a journal in a file.
func webhooksPath(s config.Settings) string { return filepath.Join(s.DataDir, "webhook.db") }

// Allowed implements admin.Webhooks.
func (h *hooks) Allowed(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return &chat.Error{Code: chat.CodeInvalid, Message: "the address of a webhook is https://HOST/PATH"}
	}
	port := u.Port()
	if port == "" {
		port = schemePorts[u.Scheme]
	}
	if at, err := netip.ParseAddrPort(net.JoinHostPort(u.Hostname(), port)); err == nil {
		if slices.Contains(h.local, at) && (u.Scheme == "http" || u.Scheme == "https") {
			return nil
		}
		if !egress.Public(at.Addr()) {
			return &chat.Error{
				Code: chat.CodeDenied, Message: "webhooks are sent to public addresses; an operator can allow others with webhooks.local",
			}
		}
	}
	if u.Scheme != "https" || (port != "443" && port != "8443") {
		return &chat.Error{Code: chat.CodeInvalid, Message: "webhooks are sent by https, to port 443 or 8443"}
	}
	return nil
}

// Close lets requests end.
func (h *hooks) Close() error {
	h.stop()
	h.group.Wait()
	h.gate.Close()
	return h.Store.Close()
}
