package admin_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// TestStrangersBehindAProxy are noted with their own address, not with the proxy's.
func TestStrangersBehindAProxy(t *testing.T) {
	s := newToldWith(t, func(o *api.Options) {
		o.Guesses.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/conversations", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	s.recorder.Close()
	entries, err := s.recorder.Read(t.Context(), audit.Installation, 0, 100)
	if err != nil || len(entries) != 1 || entries[0].Detail != "unauthorised at GET /v1/conversations from 192.0.2.7" {
		t.Errorf("noted as %+v, %v", entries, err)
	}
}

// TestAnImportIsOneEntry imports decisions and effects of elsewhere: nobody did them here.
func TestAnImportIsOneEntry(t *testing.T) {
	s := newToldWith(t, func(o *api.Options) {
		recorder, _ := o.Audit.(*audit.Recorder) // it is nothing else
		log := audit.NewLog(o.Log, recorder.Trail, "test")
		o.Log, o.Commands = log, apitest.Commands{Log: log}
	})
	rows := []journal.Row{
		journal.Opened{By: "bob"},
		journal.TaskAssigned{In: mainTask, Role: "main"},
		journal.ApprovalRequested{In: mainTask, Call: "1.0", Tool: "shell", Hash: "h"},
		journal.ApprovalDecided{In: mainTask, Call: "1.0", Hash: "h", Allow: true, By: "bob"},
		journal.ToolStarted{In: mainTask, Call: "1.0", Class: "once", Attempt: 1},
		journal.ToolReturned{In: mainTask, Call: "1.0", Status: journal.CallCompleted},
		journal.ApprovalClosed{In: mainTask, Call: "1.0"},
	}
	ref := journal.Ref{Tenant: "acme", Conversation: "elsewhere"}
	if _, err := s.log.Append(t.Context(), ref, time.Now(), rows...); err != nil { // past the trail
		t.Fatal(err)
	}
	var export bytes.Buffer
	get(t, s, "/v1/conversations/elsewhere/export", &export)
	var made wire.Conversation
	for range 2 {
		post(t, s, "/v1/import", export.Bytes(), &made)
	}
	s.traces("conversation.export accepted", "conversation.import accepted")
	if code := s.do(http.MethodDelete, "/v1/conversations/"+made.ID, "key-delete", nil, nil); code != http.StatusAccepted {
		t.Errorf("deleted with %d", code)
	}
}

var mainTask = journal.In{Agent: "main", Task: "main"}

func get(t *testing.T, s *told, path string, out *bytes.Buffer) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, r, http.StatusOK, out)
}

func post(t *testing.T, s *told, path string, body []byte, out any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("Idempotency-Key", "key-import")
	var answer bytes.Buffer
	exchange(t, r, http.StatusCreated, &answer)
	if err := json.Unmarshal(answer.Bytes(), out); err != nil {
		t.Fatal(err)
	}
}

func exchange(t *testing.T, r *http.Request, status int, out *bytes.Buffer) {
	t.Helper()
	r.Header.Set("Authorization", "Bearer "+localKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	if _, err := out.ReadFrom(answer.Body); err != nil || answer.StatusCode != status {
		t.Fatalf("%s %s: %d, %v: %s", r.Method, r.URL.Path, answer.StatusCode, err, out)
	}
}
