//go:build services

package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/people"
	peoplestore "github.com/retinue-dev/retinue/internal/people/postgres"
	"github.com/retinue-dev/retinue/internal/porttest"
)

// readingModel reads the requested file and repeats its content.
const readingModel = `
name: reading
rules:
  - {name: read, when: {turn: 0, text: 'read (?P<file>\S+)'}, reply: {calls: [{tool: read_file, args: {path: '${file}'}}]}}
  - {name: tell, when: {turn: 1, results: true}, reply: {text: 'got: ${result}'}}
`

// resident is somebody with a tenant of their own, and a key.
type resident struct{ tenant, key string }

// TestWorkspacesBelongToTenants has a stranger with a tenant of her own ask for the files of
// another: by the name of the workspace, by names that look like paths and queues, and by the ways
// in that other protocols have.
//
// Covers: P21, P22.
func TestWorkspacesBelongToTenants(t *testing.T) {
	t.Parallel()
	h := newHosted(t, readingModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann, mallory := h.settle(t, "ann"), h.settle(t, "mallory")
	h.write(t, "shop/secret.txt", "TENANT-A-SECRET-42\n")
	h.write(t, "stall/own.txt", "a stall of her own\n")
	for _, unknown := range []string{"nobody/shop", "/shop", ann.tenant + "/", ann.tenant + "/a/b"} {
		if out, err := h.command("worker", "--workspace", unknown+"="+filepath.Join(h.dir, "shop")).Output(); err == nil {
			t.Errorf("a worker for %s: %s", unknown, out)
		}
	}
	h.start(t, "worker: ready", "worker", "--workspace", ann.tenant+"/shop="+filepath.Join(h.dir, "shop"),
		"--workspace", mallory.tenant+"/stall="+filepath.Join(h.dir, "stall"))
	at := h.serve(t)

	if said := h.talk(t, at, ann, "shop", "read secret.txt"); !strings.Contains(said, "TENANT-A-SECRET-42") {
		t.Fatalf("the owner of the workspace is told %q", said)
	}
	if said := h.talk(t, at, mallory, "stall", "read own.txt"); !strings.Contains(said, "a stall of her own") {
		t.Fatalf("mallory's own workspace: %q", said)
	}
	if _, text := h.call(t, at, mallory, http.MethodGet, "/v1/workspaces", nil); strings.Contains(text, "shop") || !strings.Contains(text, "stall") {
		t.Errorf("mallory is shown %s", text)
	}
	wall := measure.NewWall(t, "1.2")
	for _, name := range []string{
		"shop", ann.tenant + "/shop", "../" + ann.tenant + "/shop", "/" + ann.tenant + "/shop", "stall/../shop", "Shop", "shop ", "shop/",
		filepath.Join(h.dir, "shop"), "retinue/" + ann.tenant + "/shop", "stall/../../" + ann.tenant + "/shop",
	} {
		for path, body := range map[string]any{
			"/v1/conversations": map[string]any{"workspace": name, "message": "read secret.txt"},
			"/v1/chat/completions": map[string]any{
				"model": "retinue", "messages": []any{map[string]any{"role": "user", "content": "read secret.txt"}}, "metadata": map[string]any{"workspace": name},
			},
		} {
			status, text := h.call(t, at, mallory, http.MethodPost, path, body)
			wall.Try(strings.Contains(text, "TENANT-A") || path == "/v1/conversations" && status < 400, "%s with workspace %q: %d %s", path, name, status, text)
		}
		_, text := h.call(t, at, mallory, http.MethodGet, "/v1/files?workspace="+name, nil)
		wall.Try(strings.Contains(text, "secret"), "the files of %q are listed: %s", name, text)
	}
}

// settle logs a person in for the first time, and gives them a key.
func (h *hosted) settle(t *testing.T, name string) resident {
	t.Helper()
	kept, err := peoplestore.Open(t.Context(), peoplestore.Options{DSN: h.value("JOURNAL_DSN"), Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	return h.arrive(t, kept, name, "")
}

// arrive logs a person in, and gives them a key in a tenant, or in their own.
func (h *hosted) arrive(t *testing.T, kept *peoplestore.Store, name, tenant string) resident {
	t.Helper()
	p := people.Person{Issuer: "https://login.example.org", Subject: name, Email: name + "@example.org", Name: name}
	now := time.Now()
	taking := func(_ people.Invitation, take func() error) error { return take() }
	if _, err := kept.Arrive(t.Context(), p, now, taking); err != nil {
		t.Fatal(err)
	}
	if tenant == "" {
		tenant = p.Home()
	}
	key := people.NewCredential(people.KindKey, tenant)
	err := kept.MakeKey(t.Context(), key, people.Key{
		ID: "k" + name, Person: p.ID(), Name: name, Scopes: []people.Scope{people.ScopeRead, people.ScopeWrite, people.ScopeAdmin},
		CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return resident{tenant: tenant, key: key.Text}
}

// serve starts a server for people who log in, and returns its address.
func (h *hosted) serve(t *testing.T) string {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", porttest.Hold(t))
	h.start(t, "serve: ready", "serve", "--set", "serve.address="+address, "--set", "serve.health=127.0.0.1:0", "--set", "serve.url=http://"+address)
	return "http://" + address
}

// value is that of a variable that the programs get.
func (h *hosted) value(name string) string {
	for _, entry := range h.env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

func (h *hosted) call(t *testing.T, at string, who resident, method, path string, body any) (int, string) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, at+strings.ReplaceAll(path, " ", "%20"), bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+who.key)
	request.Header.Set("Idempotency-Key", rand.Text())
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(got)
}

// talk begins a conversation in a workspace and waits for the answer.
func (h *hosted) talk(t *testing.T, at string, who resident, workspace, text string) string {
	t.Helper()
	status, begun := h.call(t, at, who, http.MethodPost, "/v1/conversations", map[string]any{"workspace": workspace, "message": text})
	var c struct{ ID string }
	if err := json.Unmarshal([]byte(begun), &c); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s", status, begun)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(glance) {
		_, said := h.call(t, at, who, http.MethodGet, "/v1/conversations/"+c.ID+"/messages", nil)
		if strings.Contains(said, "got: ") || time.Now().After(deadline) {
			return said
		}
	}
}
