package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
)

// TestAPrivateConversationIsShared looks at who may see a private conversation before and after it
// is shared. Who is kept from it is shown on Postgres.
func TestAPrivateConversationIsShared(t *testing.T) {
	t.Parallel()
	s := apitest.Crowded(t, journaltest.NewMemory(), nil)
	read := func(status, want int, body string) (c wire.Conversation) {
		t.Helper()
		if err := json.Unmarshal([]byte(body), &c); err != nil || status != want {
			t.Fatalf("status %d, want %d, %v: %s", status, want, err, body)
		}
		return c
	}
	status, body := s.Ask(t, "a/ann", http.MethodPost, "/v1/conversations", "begin-12345678", `{"title":"x","visibility":"private"}`)
	c := read(status, http.StatusCreated, body)
	if c.Visibility != wire.VisiblePrivate {
		t.Errorf("it begins %s", c.Visibility)
	}
	for _, path := range []string{"/v1/conversations/none/share", "/v1/conversations/" + c.ID + "/share"} {
		want := http.StatusAccepted
		if path == "/v1/conversations/none/share" {
			want = http.StatusNotFound
		}
		if status, body := s.Ask(t, "a/ann", http.MethodPost, path, "share-12345678", ""); status != want {
			t.Errorf("%s: status %d, want %d: %s", path, status, want, body)
		}
	}
	status, body = s.Ask(t, "a/ann", http.MethodPost, "/v1/conversations", "begin-12345678", `{"title":"x","visibility":"private"}`)
	if again := read(status, http.StatusCreated, body); again.ID != c.ID || again.Visibility != wire.VisibleToTenant {
		t.Errorf("after it was shared it is %+v", again)
	}
}
