package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
)

// TestStorageHasAnEnd has a tenant say more than its conversations may hold. What is on record
// already may be sent again, and another tenant is not held back.
func TestStorageHasAnEnd(t *testing.T) {
	t.Parallel()
	const most = 10_000
	s := apitest.Crowded(t, journaltest.NewMemory(), func(o *api.Options) {
		o.Limits, o.TenantSlots = admission.Limits{TenantSearches: 2, TenantUploads: 3, TenantStreams: 4}, 5
		o.Budget = func(string) int64 { return 7 }
		o.Storage = func(tenant string) int64 {
			if tenant == "small" {
				return most
			}
			return 0
		}
	})
	begin := func(who string) string {
		t.Helper()
		status, body := s.Ask(t, who, http.MethodPost, "/v1/conversations", "begin-12345678", `{"title":"x"}`)
		var c wire.Conversation
		if err := json.Unmarshal([]byte(body), &c); err != nil || status != http.StatusCreated {
			t.Fatalf("status %d, %v: %s", status, err, body)
		}
		return "/v1/conversations/" + c.ID + "/messages"
	}
	said, text := map[string]int{}, `{"text":"`+strings.Repeat("x", 6000)+`"}`
	small, wide := begin("small/ann"), begin("wide/bob")
	for _, step := range []struct{ who, path, key string }{
		{"small/ann", small, "first-12345678"},
		{"small/ann", small, "second-1234567"},
		{"small/ann", small, "first-12345678"},
		{"wide/bob", wide, "first-12345678"},
		{"wide/bob", wide, "second-1234567"},
	} {
		status, body := s.Ask(t, step.who, http.MethodPost, step.path, step.key, text)
		said[step.who+" "+step.key] = status
		if status == http.StatusForbidden && !strings.Contains(body, "would be 0.0 MB more") {
			t.Errorf("refused with %s", body)
		}
	}
	want := map[string]int{
		"small/ann first-12345678": http.StatusCreated, "small/ann second-1234567": http.StatusForbidden,
		"wide/bob first-12345678": http.StatusCreated, "wide/bob second-1234567": http.StatusCreated,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("what was said (+) against the wanted (-):\n%s", diff)
	}
	status, body := s.Ask(t, "small/ann", http.MethodGet, "/v1/quotas", "", "")
	var got wire.Quotas
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	if got.Storage.Most != most || got.Storage.Used < 6000 || got.Storage.Used > most || got.Month.Budget != 7 ||
		got.AtOnce != (wire.AtOnceQuota{Agents: 5, Searches: 2, Imports: 3, Streams: 4}) {
		t.Errorf("the quotas are %+v", got)
	}
}
