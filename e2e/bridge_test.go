//go:build services

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/people"
	peoplestore "github.com/retinue-dev/retinue/internal/people/postgres"
)

// The tenants of the bridges' tests, by the token that opens their door.
const (
	adaToken = "token-of-ada"
	bobToken = "token-of-bob"
	// eveToken is a viewer's of ada's tenant, and penToken may write and not read.
	eveToken = "token-of-eve"
	penToken = "token-of-pen"
)

// authenticators accepts several people, who are not all of one tenant.
type authenticators map[string]admission.Caller

// Identify implements admission.Authenticator.
func (d authenticators) Identify(r *http.Request) (admission.Caller, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if c, ok := d[token]; ok {
		return c, nil
	}
	return admission.Caller{}, admission.Unauthorised()
}

// bob is somebody with a tenant of his own. He has workspaces of the same names and, here, the same
// files as others.
var (
	bob        = people.Person{Issuer: "https://login.example.org", Subject: "bob", Email: "bob@example.org", Name: "bob"}
	bobsTenant = bob.Home()
)

// settleBob makes his tenant.
func (s *stack) settleBob(t *testing.T) {
	t.Helper()
	kept, err := peoplestore.Open(t.Context(), peoplestore.Options{DSN: s.dsn, Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	taking := func(_ people.Invitation, take func() error) error { return take() }
	if _, err := kept.Arrive(t.Context(), bob, time.Now(), taking); err != nil {
		t.Fatal(err)
	}
}

func someAuthenticators() authenticators {
	both := []people.Scope{people.ScopeRead, people.ScopeWrite}
	return authenticators{
		adaToken: {Tenant: app.LocalTenant, User: "ada", Name: "ada", Role: people.RoleMember, Scopes: both},
		bobToken: {Tenant: bobsTenant, User: "bob", Name: "bob", Role: people.RoleMember, Scopes: both},
		eveToken: {Tenant: app.LocalTenant, User: "eve", Name: "eve", Role: people.RoleViewer, Scopes: both},
		penToken: {Tenant: app.LocalTenant, User: "pen", Name: "pen", Role: people.RoleMember, Scopes: []people.Scope{people.ScopeWrite}},
	}
}

// bridged is a server in front of a stage.
type bridged struct {
	*stage
	url    string
	server *api.Server
}

// bridge plays a model's script behind a server with all bridges.
func bridge(t *testing.T, on *stack, name, settings, model string, work map[string]string) bridged {
	t.Helper()
	s := newScenario(t, name, model)
	s.settings, s.work, s.guest = settings, work, bobsTenant
	if on.dsn != "" {
		on.settleBob(t)
	}
	st := newStage(t, s, on, 0)
	b := bridged{stage: st}
	b.url, b.server = front(t, st, st.worker)
	return b
}

// front is a server of a node. The worker's own is told of deltas where there is no NATS.
func front(t *testing.T, st *stage, node *app.Node) (string, *api.Server) {
	t.Helper()
	o := api.Options{
		Options: admission.Options{Authenticator: someAuthenticators(), Logger: st.logs.logger()},
		Log:     node.Log, Bus: node.Bus, Commands: node.Commands(st.spec.Workspace), Version: "test",
	}
	server := api.New(o)
	node.Bridge(server, o)
	listening := httptest.NewServer(hurried(server))
	t.Cleanup(func() {
		server.Close()
		listening.Close()
	})
	return listening.URL, server
}

// unhurried makes the model take longer than requestTime, the limit of an answer unless it is
// lifted.
const (
	unhurried   = "Take your time"
	requestTime = 500 * time.Millisecond
)

// hurried limits the answers to unhurried messages as a server limits all. Other answers have no
// limit here: their time depends only on the machine.
func hurried(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		start, _ := body.Peek(body.Size()) // a body that is shorter or cannot be read is the server's affair
		r.Body = struct {
			io.Reader
			io.Closer
		}{body, r.Body}
		if bytes.Contains(start, []byte(unhurried)) {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTime)); err != nil {
				panic(err)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// briefly bounds what a test waits for.
func briefly(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	return ctx
}
