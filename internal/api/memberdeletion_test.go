//go:build services

package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
)

// TestMemberIsDeleted deletes a person in a tenant: their private conversations, sessions, keys and
// address go, what they said where others see it stays, and so does what they have in another
// tenant.
//
// Covers: P29.
func TestMemberIsDeleted(t *testing.T) {
	m := newMatrix(t, nil, nil)
	_, owner := m.key(m.owner, m.tenant, time.Hour, people.AllScopes()...)
	_, hermit := m.key(m.hermit, m.tenant, time.Hour, people.ScopeRead)
	_, home := m.key(m.hermit, m.hermit.Home(), time.Hour, people.ScopeRead)
	m.session(m.hermit, m.tenant)
	m.fillFor(m.hermit.ID(), m.hermit.Home(), "c"+m.unique(), "home", "6.0")
	shared := journal.Ref{Tenant: m.tenant, Conversation: "c" + m.unique()}
	if _, err := m.log.Append(t.Context(), shared, time.Now(), journal.Opened{By: m.hermit.Email}, journal.Shared{By: m.hermit.Email}); err != nil {
		t.Fatal(err)
	}
	id := m.memberID(m.hermit)
	if status, text := m.request(hermit, http.MethodPost, "/v1/members/"+id+"/deletion", ""); status != http.StatusForbidden {
		t.Errorf("a member deletes themselves: %d %s", status, text)
	}
	if status, text := m.request(owner, http.MethodPost, "/v1/members/"+m.memberID(m.owner)+"/deletion", ""); status != http.StatusConflict {
		t.Errorf("the last owner is deleted: %d %s", status, text)
	}
	status, text := m.request(owner, http.MethodPost, "/v1/members/"+id+"/deletion", "")
	if status != http.StatusOK || !strings.Contains(text, `"conversations":1`) {
		t.Fatalf("%d %s", status, text)
	}
	for what, sql := range map[string]string{
		"private conversations": "select count(*) from private_conversations where owner = '" + m.hermit.ID() + "' and tenant_id = '" + m.tenant + "'",
		"memberships":           "select count(*) from people.members where email = '" + m.hermit.Email + "' and tenant_id = '" + m.tenant + "'",
		"sessions":              "select count(*) from people.sessions where person_id = '" + m.hermit.ID() + "' and tenant_id = '" + m.tenant + "'",
		"keys":                  "select count(*) from people.keys where person_id = '" + m.hermit.ID() + "' and tenant_id = '" + m.tenant + "'",
	} {
		if n := m.psql(sql); n != "0" {
			t.Errorf("%s are left: %s", what, n)
		}
	}
	if n := m.psql("select count(*) from conversations where conversation_id = '" + shared.Conversation + "'"); n != "1" {
		t.Errorf("the shared conversation: %s", n)
	}
	if n := m.psql("select count(*) from private_conversations where tenant_id = '" + m.hermit.Home() + "'"); n != "1" {
		t.Errorf("the private conversation in another tenant: %s", n)
	}
	for key, want := range map[string]int{hermit: http.StatusUnauthorized, home: http.StatusOK} {
		if status, _ := m.request(key, http.MethodGet, "/v1/conversations", ""); status != want {
			t.Errorf("a key of theirs: %d, want %d", status, want)
		}
	}
	if status, _ := m.request(owner, http.MethodPost, "/v1/members/"+id+"/deletion", ""); status != http.StatusNotFound {
		t.Errorf("a second time: %d", status)
	}
}

// memberID is what a person is called among the members of the first tenant.
func (m *matrix) memberID(p people.Person) string {
	m.t.Helper()
	return m.psql("select member_id from people.members where tenant_id = '" + m.tenant + "' and person_id = '" + p.ID() + "'")
}
