package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
)

// checkServers looks at the servers that are configured. A part without a server runs within the
// process.
func (d *doctor) checkServers(ctx context.Context) {
	for _, server := range []struct {
		name, key string
		at        config.Secret
	}{
		{"postgres", "journal.dsn", d.settings.Journal.DSN},
		{"nats", "live.nats_url", d.settings.Live.NATS},
	} {
		if server.at.IsZero() {
			d.say(OK, server.name, "not configured; not needed on one machine", "")
			continue
		}
		address, err := server.at.Reveal(d.lookup)
		if err != nil {
			d.say(Fail, server.name, err.Error(), "set it, or change "+server.key)
			continue
		}
		if d.reach(ctx, server.name, address, "start the server, or change "+server.key) && server.key == "journal.dsn" {
			d.checkJournal(ctx)
		}
	}
	if at := d.settings.Engine.Temporal; at == "" {
		d.say(OK, "temporal", "not configured; the standalone program brings its own", "")
	} else if d.reach(ctx, "temporal", at, "start the server, or change engine.temporal_address") {
		d.checkEngine(ctx)
	}
}

// checkEngine looks whether the Temporal server accepts this program, and whether it would accept
// everybody else.
func (d *doctor) checkEngine(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	encrypted, err := d.parts.Engine(ctx)
	switch {
	case err != nil:
		d.say(Fail, "engine", message(err), "correct engine.tls and engine.api_key; see docs/operating.md")
	case encrypted:
		d.say(OK, "engine", "lets this program in, over TLS", "")
	case !onThisHost(d.settings.Engine.Temporal):
		d.say(Warn, "engine", "is reached over the network without TLS: any program that can reach it can stop and misuse every run",
			"set engine.tls, or engine.api_key")
	default:
		d.say(Warn, "engine", "asks for no credential: every program on this machine can use it", "set up TLS there, then engine.tls")
	}
}

// checkJournal opens the journal as servers and workers do: it refuses a role that could bypass the
// policies and a database that is not up to date.
func (d *doctor) checkJournal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := d.parts.Journal(ctx); err != nil {
		d.say(Fail, "journal", message(err), "correct journal.dsn, or run 'retinue migrate' as the owner; see docs/operating.md")
		return
	}
	d.say(OK, "journal", "can be opened and is up to date", "")
	d.checkWebhooks(ctx)
}

// checkWebhooks says whether the secrets of the webhooks that there are can be opened, as they must
// be when something is sent.
func (d *doctor) checkWebhooks(ctx context.Context) {
	const check = "webhooks"
	const back = "set sealing.key to the one before, or put its file back; if it is lost, remove the webhooks and add them again"
	hooks := d.parts.Webhooks(ctx)
	switch {
	case hooks.Unread != nil && !errors.Is(hooks.Unread, fs.ErrNotExist):
		d.say(Fail, check, message(hooks.Unread), "correct it; without it no server starts")
	case hooks.Count > 0 && hooks.Unread != nil:
		d.say(Fail, check, fmt.Sprintf("%d cannot be sent, since their key is missing: %s", hooks.Count, message(hooks.Unread)), back)
	case hooks.Err != nil && hooks.Keyless: // as for workers, which need none
		d.say(Warn, check, message(hooks.Err), "set sealing.key where servers run")
	case hooks.Err != nil:
		d.say(Fail, check, message(hooks.Err), back)
	case hooks.Count > 0:
		d.say(OK, check, fmt.Sprintf("%d, whose secrets can be opened", hooks.Count), "")
	}
}

// checkServe looks at what 'retinue serve' would begin with.
func (d *doctor) checkServe(ctx context.Context) {
	if err := d.parts.Certificate(); err != nil {
		d.say(Fail, "serve", err.Error(), "correct serve.tls.cert and serve.tls.key, or leave both out")
	}
	if issuer := d.settings.Serve.OIDC.Issuer; issuer != "" {
		d.reach(ctx, "login", issuer, "check serve.oidc.issuer and the network")
	}
}

// message is what an error says to people.
func message(err error) string {
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
