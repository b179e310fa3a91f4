//go:build services

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/porttest"
)

// TestATenantGoes deletes two tenants whose agents wait for a person: one by its owner, over the
// API, and one by the operator. The only server is killed on the way and started again. Nothing of
// either is left but the trail, with a certificate.
//
// Covers: P29.
func TestATenantGoes(t *testing.T) {
	t.Parallel()
	h := newHosted(t, writingModel)
	h.env = append(h.env, "OIDC_SECRET=none", "USER=op")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann, eve, kim := h.settle(t, "ann"), h.settle(t, "eve"), h.settle(t, "kim")
	worker := []string{"worker"}
	for _, who := range []resident{ann, eve, kim} {
		worker = append(worker, "--workspace", who.tenant+"/shop="+filepath.Join(h.dir, "shop"))
	}
	h.start(t, "worker: ready", worker...)
	address := fmt.Sprintf("127.0.0.1:%d", porttest.Hold(t))
	serve := []string{"serve", "--set", "serve.address=" + address, "--set", "serve.health=127.0.0.1:0", "--set", "serve.url=http://" + address}
	server, at := h.start(t, "serve: ready", serve...), "http://"+address
	for _, who := range []resident{ann, ann, ann, eve, kim} {
		h.wanted(t, at, who)
	}
	path := "/v1/tenants/" + ann.tenant + "/deletion"
	if status, text := h.call(t, at, ann, http.MethodPost, path, map[string]any{"name": "eve"}); status != http.StatusUnprocessableEntity {
		t.Errorf("with another's name: %d %s", status, text)
	}
	if status, text := h.call(t, at, ann, http.MethodPost, path, map[string]any{"name": "ann"}); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	h.eventually(t, "a conversation is deleted", func() bool { return h.count(t, "conversations", ann) < 3 })
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // that it was killed is known
	if n := h.count(t, "people.tenants", ann); n != 1 {
		t.Fatalf("it was over before the server was killed: %d", n)
	}
	if out, err := h.command("tenant", "delete", eve.tenant, "--name", "ann").Output(); err == nil {
		t.Errorf("the operator deletes a tenant by another's name: %s", out)
	}
	h.start(t, "serve: ready", serve...)
	if status, text := h.call(t, at, ann, http.MethodPost, "/v1/conversations", map[string]any{"message": "hello"}); status != http.StatusConflict {
		t.Errorf("ann begins something in a tenant that is being deleted: %d %s", status, text)
	}
	if out, err := h.command("tenant", "delete", eve.tenant, "--name", "eve", "--wait", "2m").Output(); err != nil || !strings.Contains(string(out), "nothing of "+eve.tenant+" is left") {
		t.Fatalf("the operator deletes a tenant: %v\n%s", err, out)
	}
	wall := measure.NewWall(t, "1.8")
	h.eventually(t, "ann's tenant is gone", func() bool { return h.count(t, "people.tenants", ann) == 0 })
	for _, table := range strings.Fields(h.psql(t, `select c.table_schema || '.' || c.table_name from information_schema.columns c
		join information_schema.tables t using (table_schema, table_name)
		where c.column_name = 'tenant_id' and t.table_type = 'BASE TABLE' and c.table_name <> 'audit_rows'`)) {
		a, e := h.count(t, table, ann), h.count(t, table, eve)
		wall.Try(a+e > 0, "%s has %d rows of ann's tenant and %d of eve's", table, a, e)
	}
	h.certified(t, ann, 3, "by u")
	h.certified(t, eve, 1, "by op (cli)")
	if status, _ := h.call(t, at, kim, http.MethodGet, "/v1/conversations", nil); status != http.StatusOK || h.count(t, "conversations", kim) != 1 {
		t.Errorf("kim's tenant: %d", status)
	}
}

// count is how many rows of somebody's tenant a table has.
func (h *hosted) count(t *testing.T, table string, who resident) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(h.psql(t, "select count(*) from "+table+" where tenant_id = '"+who.tenant+"'"), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// eventually waits for something.
func (h *hosted) eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); !is(); time.Sleep(glance) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come about: %s", what)
		}
	}
}

// certified has the shipped program print the certificate of a tenant and verify its trail.
func (h *hosted) certified(t *testing.T, who resident, conversations int, by string) {
	t.Helper()
	out, err := h.command("audit", "certificate", "--tenant", who.tenant).Output()
	for _, want := range []string{fmt.Sprintf("conversations=%d ", conversations), by, "the entries before it say the same"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("the certificate does not say %q: %v\n%s", want, err, out)
		}
	}
	if out, err := h.command("audit", "verify", "--tenant", who.tenant).Output(); err != nil || !strings.Contains(string(out), "is whole") {
		t.Errorf("the trail of the deleted tenant: %v\n%s", err, out)
	}
}
