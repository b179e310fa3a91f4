//go:build services

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/deletion"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
)

// psql puts a question to the database, as its owner.
func (w *world) psql(statement string) string {
	w.t.Helper()
	out, err := exec.Command("psql", "-qAt", w.dsn, "-c", statement).CombinedOutput()
	if err != nil {
		w.t.Fatalf("psql: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// rows counts what each table with a tenant has of one. The audit trail stays and is left out.
func (w *world) rows(tenant string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, table := range strings.Fields(w.psql(`select c.table_schema || '.' || c.table_name from information_schema.columns c
		join information_schema.tables t using (table_schema, table_name)
		where c.column_name = 'tenant_id' and t.table_type = 'BASE TABLE' and c.table_name <> 'audit_rows'`)) {
		out[table] = w.psql("select count(*) from " + table + " where tenant_id = '" + tenant + "'")
	}
	return out
}

// furnish puts a row of a tenant into every table that has a tenant.
func (m *matrix) furnish(tenant string) {
	m.t.Helper()
	ctx, at := m.t.Context(), journal.Ref{Tenant: tenant, Conversation: "c" + m.unique()}
	gone := journal.Ref{Tenant: tenant, Conversation: "c" + m.unique()}
	_, err := m.log.Append(ctx, at, time.Now(),
		journal.Opened{By: "ann", PrivateTo: m.hermit.ID()}, journal.TaskAssigned{In: mainTask, Role: "main"},
		journal.Granted{In: mainTask, Call: "1.0", Tool: "shell", Pattern: "ls"},
		journal.ModelCalled{In: mainTask, Call: "1.1", Type: journal.RequestDelegation, Turn: 1, Model: "m"},
		journal.MailPosted{ID: "message:m", Topic: "message"})
	if err == nil {
		_, err = m.log.Append(ctx, gone, time.Now(), journal.Opened{By: "ann"})
	}
	if err == nil {
		err = m.log.Erase(ctx, gone)
	}
	if err == nil {
		err = m.log.Keep(ctx, journal.Ref{Tenant: tenant, Conversation: "c" + m.unique()}, "a text before its conversation begins")
	}
	if err == nil {
		_, err = m.log.Reserve(ctx, tenant, journal.MonthOf(time.Now()), 1, 1000)
	}
	if err == nil {
		err = m.people.ServeWorkspace(ctx, tenant, "shop", time.Now())
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.session(m.owner, m.owner.Home())
	d := m.hook(tenant, "furnished")
	if _, err := m.hooks.Replay(ctx, tenant, d.Hook, d.ID, "again", time.Now()); err != nil {
		m.t.Fatal(err)
	}
}

// remover deletes tenants as a server does, whose wiping may fail.
func (m *matrix) remover(fails func() error) *deletion.Tenants {
	recorder, _ := m.options.Audit.(*audit.Recorder) // it is nothing else
	return deletion.NewTenants(deletion.TenantOptions{
		People: m.people, Log: m.log, Delete: m.options.Commands.Delete, Certify: recorder.Certify,
		Wipe: []func(context.Context, string) error{m.log.Wipe, func(context.Context, string) error { return fails() }, m.hooks.Wipe},
		Now:  func() time.Time { return time.Now().Add(time.Hour) }, Logger: slog.New(slog.DiscardHandler),
	})
}

// request sends one with a key.
func (m *matrix) request(key, method, path, body string) (int, string) {
	m.t.Helper()
	r, err := http.NewRequestWithContext(m.t.Context(), method, m.server.URL+path, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Idempotency-Key", m.unique())
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := m.client.Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestTenantIsDeleted deletes a tenant that has a row in every table with a tenant, by several
// servers at once, the first of which dies on the way. Nothing of it is left but the trail, and the
// other tenant is what it was.
//
// Covers: P29.
func TestTenantIsDeleted(t *testing.T) {
	m := newMatrix(t, nil, nil)
	m.furnish(m.tenant)
	_, owner := m.key(m.owner, m.tenant, time.Hour, people.AllScopes()...)
	_, member := m.key(m.hermit, m.tenant, time.Hour, people.ScopeRead, people.ScopeWrite)
	path := "/v1/tenants/" + m.tenant + "/deletion"
	for _, c := range []struct {
		key, method, path, body string
		want                    int
	}{
		{owner, http.MethodGet, path, "", http.StatusNotFound},
		{member, http.MethodPost, path, `{"name":"owner"}`, http.StatusForbidden},
		{owner, http.MethodPost, path, `{"name":"another"}`, http.StatusUnprocessableEntity},
		{owner, http.MethodPost, "/v1/tenants/" + m.other + "/deletion", `{"name":"` + canary + `"}`, http.StatusNotFound},
		{owner, http.MethodGet, "/v1/conversations", "", http.StatusOK},
		{owner, http.MethodPost, path, `{"name":"owner"}`, http.StatusAccepted},
		{owner, http.MethodPost, path, `{"name":"owner"}`, http.StatusAccepted},
		{owner, http.MethodGet, path, "", http.StatusOK},
		{owner, http.MethodGet, "/v1/conversations", "", http.StatusConflict},
		{owner, http.MethodPost, "/v1/conversations", `{"message":"hello"}`, http.StatusConflict},
		{member, http.MethodPost, "/v1/conversations", `{"message":"hello"}`, http.StatusConflict},
	} {
		if status, text := m.request(c.key, c.method, c.path, c.body); status != c.want {
			t.Errorf("%s %s %s: %d, want %d: %s", c.method, c.path, c.body, status, c.want, text)
		}
	}
	m.closed()
	m.carriedOut(owner)
}

// closed tries to begin something in a tenant that is being deleted, past the server.
func (m *matrix) closed() {
	m.t.Helper()
	late := journal.Ref{Tenant: m.tenant, Conversation: "clate"}
	if _, err := m.log.Append(m.t.Context(), late, time.Now(), journal.Opened{By: "ann"}); chat.CodeOf(err) != chat.CodeConflict {
		m.t.Errorf("a conversation begins late: %v", err)
	}
	if err := m.log.Keep(m.t.Context(), late, "late"); chat.CodeOf(err) != chat.CodeConflict {
		m.t.Errorf("a text is kept late: %v", err)
	}
}

// carriedOut has several servers carry the deletion out, and looks at what is left.
func (m *matrix) carriedOut(owner string) {
	t := m.t
	t.Helper()
	before, others := m.rows(m.tenant), m.rows(m.other)
	for table, n := range before {
		if n == "0" {
			t.Errorf("the test does not fill %s: add a row to furnish, and see that a deletion takes it", table)
		}
	}
	weights := m.psql("select count(*) || ' ' || sum(last_seq) from conversations where tenant_id = '" + m.tenant + "'")
	dies := errors.New("the server dies")
	if err := m.remover(func() error { return dies }).Look(t.Context()); err != nil {
		t.Fatal(err) // it comes to the conversations only
	}
	if err := m.remover(func() error { return dies }).Look(t.Context()); !errors.Is(err, dies) {
		t.Fatalf("the server does not die: %v", err)
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := m.remover(func() error { return nil }).Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for table, n := range m.rows(m.tenant) {
		if n != "0" {
			t.Errorf("%s has %s rows of the deleted tenant", table, n)
		}
	}
	if diff := cmp.Diff(others, m.rows(m.other)); diff != "" {
		t.Errorf("the other tenant is not what it was:\n%s", diff)
	}
	if status, _ := m.request(owner, http.MethodGet, "/v1/me", ""); status != http.StatusUnauthorized {
		t.Errorf("the owner's key after the end: %d", status)
	}
	m.certified(weights)
}

// certified looks at the certificate.
func (m *matrix) certified(weights string) {
	t := m.t
	t.Helper()
	if _, err := audit.Verify(t.Context(), m.trails, m.tenant, nil, nil); err != nil {
		t.Error(err)
	}
	list, err := audit.Certificates(t.Context(), m.trails, m.tenant)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d certificates, %v", len(list), err)
	}
	c := list[0]
	said, _ := json.Marshal([]int64{int64(len(c.Erased)), c.Sum().Rows})
	var want []int64
	_ = json.Unmarshal([]byte("["+strings.ReplaceAll(weights, " ", ",")+"]"), &want)
	want[1] += want[0] // that it is to be erased is a row of each
	expected, _ := json.Marshal(want)
	if string(said) != string(expected) || !c.Fits || c.Actor.User != m.owner.ID() || c.Sum().Texts < 2 || c.Sum().Bytes == 0 {
		t.Errorf("the certificate says %s, want %s conversations and rows: %+v", said, expected, c)
	}
}
