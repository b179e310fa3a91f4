package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/identity"
)

// TestLinksLeaveTraces makes a link and enters by it, and looks for both on the trail, without the
// code.
func TestLinksLeaveTraces(t *testing.T) {
	browsers := &identity.Browsers{}
	local := identity.Local{Tenant: "acme", User: "ann", Token: localKey, Browsers: browsers}
	s := newToldWith(t, func(o *api.Options) { o.Authenticator, o.Local = local, &local })
	var made struct{ URL string }
	post(t, s, "/v1/links", nil, &made)
	_, code, _ := strings.Cut(made.URL, "#code=")
	answer, err := http.Post(s.URL+"/login/link", "application/json", strings.NewReader(`{"code":"`+code+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the link: %s", answer.Status)
	}
	s.traces("link.create accepted", "session.begin accepted")
	entries, err := s.recorder.Read(t.Context(), "acme", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", entries); strings.Contains(text, code) {
		t.Errorf("the trail shows the code: %s", text)
	}
}
