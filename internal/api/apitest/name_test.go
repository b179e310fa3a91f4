package apitest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// TestNamesStand has somebody whose address has all the marks that ids are made with use each
// command, and reads what the server then says of them: wherever it says by whom something was
// done, it is they.
func TestNamesStand(t *testing.T) {
	const name = "a|b:c/d~e#f@example.org"
	s := apitest.Start(t, func(o *api.Options) {
		o.Authenticator = identity.Local{Tenant: apitest.Tenant, User: name, Token: apitest.Token}
	})
	c := &client.Client{BaseURL: s.URL, Key: apitest.Token, HTTP: s.Contract.Client(t)}
	talk, err := c.Create(t.Context(), wire.NewConversation{Title: "Plums", Message: "Hello"})
	if err != nil {
		t.Fatal(err)
	}
	ref := journal.Ref{Tenant: apitest.Tenant, Conversation: talk.ID}
	hand := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	_, err = s.Log.Append(t.Context(), ref, time.Now(), journal.TaskAssigned{In: hand, Parent: "main", Call: "1.0", Role: "coder", Depth: 1},
		journal.ApprovalRequested{In: hand, Call: "1.0", Tool: "shell", Hash: "h1"})
	if err != nil {
		t.Fatal(err)
	}
	path := "/v1/conversations/" + talk.ID
	send := func(method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+apitest.Token)
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", "key-"+journal.HashOf(path + body)[:20])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // it was read
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, text, err)
		}
		return string(text)
	}
	send(http.MethodPost, path+"/approvals/main~1.0.0:1.0/decision", `{"allow":true,"hash":"h1"}`)
	send(http.MethodPost, path+"/cancel", `{"task":"main/1.0.0"}`)
	send(http.MethodPost, path+"/cancel", `{}`)
	send(http.MethodPost, path+"/archive", ``)
	for place, least := range map[string]int{
		path: 1, path + "/messages": 1, path + "/approvals/main~1.0.0:1.0": 1, path + "/export": 6,
	} {
		n := 0
		for line := range strings.Lines(send(http.MethodGet, place, "")) {
			var value any
			if err := json.Unmarshal([]byte(line), &value); err != nil {
				t.Fatalf("%s: %v", place, err)
			}
			n += persons(t, place, value, name)
		}
		if n < least {
			t.Errorf("%s names the person %d times, want %d at least", place, n, least)
		}
	}
}

// persons counts the fields that say by whom something was done. Each of them names the person.
func persons(t *testing.T, place string, value any, name string) (n int) {
	t.Helper()
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			n += persons(t, place, one, name)
		}
	case map[string]any:
		for field, one := range v {
			if by, ok := one.(string); ok && (field == "by" || field == "opened_by") && by != "" {
				n++
				if by != name {
					t.Errorf("%s says %s %q", place, field, by)
				}
			}
			n += persons(t, place, one, name)
		}
	}
	return n
}
