//go:build services

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal"
)

// served is the document that the servers of this suite serve. All serve the same one.
var served struct {
	once     sync.Once
	contract *apitest.Contract
	err      error
}

// contracted is an HTTP client whose answers are checked against the document that a server serves.
func contracted(t *testing.T, server string) *http.Client {
	t.Helper()
	served.once.Do(func() { served.contract, served.err = apitest.Fetch(context.WithoutCancel(t.Context()), server) })
	if served.err != nil {
		t.Fatal(served.err)
	}
	return served.contract.Client(t)
}

// reportServed says how much the suite checked against the document.
func reportServed() {
	if served.contract != nil {
		fmt.Println("e2e:", served.contract.Counts())
	}
}

// checkServed reads over HTTP all that a scenario left, as the public client does, and checks every
// answer and every event against the document.
func (st *stage) checkServed(t *testing.T, entries []journal.Entry) {
	t.Helper()
	server := api.New(api.Options{
		Options: admission.Options{Authenticator: someAuthenticators(), Logger: st.logs.logger()},
		Log:     st.node.Log, Bus: st.node.Bus, Commands: st.node.Commands(st.spec.Workspace), Roles: st.node.Catalogue(), Version: "test",
	})
	listening := httptest.NewServer(server)
	defer listening.Close()
	defer server.Close()
	url := listening.URL
	c := &client.Client{BaseURL: url, Key: adaToken, HTTP: contracted(t, url)}
	ctx, id := briefly(t), st.ref.Conversation
	state, err := c.Conversation(ctx, id)
	if err != nil {
		t.Error(err)
		return
	}
	for what, read := range map[string]func() error{
		"messages":  func() error { _, err := c.Messages(ctx, id, client.PageOptions{}); return err },
		"agents":    func() error { _, err := c.Agents(ctx, id); return err },
		"tasks":     func() error { _, err := c.Tasks(ctx, id); return err },
		"questions": func() error { _, err := c.Questions(ctx, id); return err },
		"approvals": func() error { _, err := c.Approvals(ctx, id); return err },
		"inbox":     func() error { _, err := c.Inbox(ctx, 0); return err },
		"usage":     func() error { _, err := c.ConversationUsage(ctx, id, "agent"); return err },
		"export":    func() error { return c.Export(ctx, id, io.Discard) },
		"events":    func() error { return followed(ctx, c, id, lastTold(entries)) },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, task := range state.Tasks {
		if _, err := c.Task(ctx, id, task.ID); err != nil {
			t.Error(err)
		}
	}
	for _, approval := range state.Approvals {
		if _, err := c.Approval(ctx, id, approval.ID); err != nil {
			t.Error(err)
		}
	}
	for _, agent := range state.Agents {
		st.checkAgent(ctx, t, c, agent.ID)
	}
}

// checkAgent reads all that there is about one agent.
func (st *stage) checkAgent(ctx context.Context, t *testing.T, c *client.Client, agent string) {
	t.Helper()
	id := st.ref.Conversation
	if _, err := c.Agent(ctx, id, agent); err != nil {
		t.Error(err)
	}
	if _, err := c.Children(ctx, id, agent); err != nil {
		t.Error(err)
	}
	if _, err := c.AgentMessages(ctx, id, agent, client.PageOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.ModelCalls(ctx, id, agent, client.PageOptions{}); err != nil {
		t.Error(err)
	}
	calls, err := c.ToolCalls(ctx, id, agent, client.PageOptions{})
	if err != nil {
		t.Error(err)
	}
	for _, call := range calls.Items {
		if _, err := c.ToolCall(ctx, id, agent, call.Call); err != nil {
			t.Error(err)
		}
	}
}

// lastTold is the last entry that is an event for certain.
func lastTold(entries []journal.Entry) int64 {
	for _, e := range slices.Backward(entries) {
		switch kind := e.Row.Kind(); kind { //nolint:exhaustive // all others are events
		case journal.KindStepped, journal.KindMailPosted, journal.KindMailDelivered:
		default:
			return e.Seq
		}
	}
	return 0
}

// followed reads the events of a conversation up to one.
func followed(ctx context.Context, c *client.Client, id string, last int64) error {
	for e, err := range c.Follow(ctx, id, client.FollowOptions{}) {
		if err != nil || e.Seq >= last {
			return err
		}
	}
	return nil
}
