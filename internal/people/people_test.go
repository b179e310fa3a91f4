package people_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

func TestCredentialReadsBack(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		c := people.NewCredential(people.KindKey, "tacme")
		got, ok := people.ParseCredential(people.KindKey, c.Text)
		if !ok || got != c || seen[c.Text] {
			t.Fatalf("%q reads as %q, %v", c.Text, got.Text, ok)
		}
		seen[c.Text] = true
		if strings.Contains(fmt.Sprintf("%v %s", c, c), c.Text) {
			t.Fatal("a credential shows when it is printed")
		}
	}
	good := people.NewCredential(people.KindKey, "tacme").Text
	for _, bad := range []string{
		"", "rtk_", "rts_" + good[4:], good[:len(good)-1], good + "a", strings.ToUpper(good), " " + good, good + "\n",
		strings.Replace(good, "tacme", "", 1), strings.Replace(good, "tacme", "*", 1), strings.Replace(good, "tacme", "a'b", 1),
	} {
		if c, ok := people.ParseCredential(people.KindKey, bad); ok {
			t.Errorf("%q reads as %q", bad, c.Text)
		}
	}
}

func TestScopesOfRoles(t *testing.T) {
	t.Parallel()
	got := map[people.Role]string{}
	for _, r := range []people.Role{"", "king", people.RoleViewer, people.RoleMember, people.RoleOwner} {
		for _, s := range people.AllScopes() {
			if err := people.CheckScopes(r, []people.Scope{s}); err == nil {
				got[r] += string(s) + " "
			} else if chat.CodeOf(err) != chat.CodeDenied {
				t.Errorf("%s %s: %v", r, s, err)
			}
		}
		if people.CheckScopes(r, nil) == nil {
			t.Errorf("a %s can make a key without a scope", r)
		}
	}
	want := map[people.Role]string{people.RoleViewer: "read ", people.RoleMember: "read write ", people.RoleOwner: "read write admin "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scopes (+) against the wanted (-):\n%s", diff)
	}
}

func TestEmails(t *testing.T) {
	t.Parallel()
	if got, err := people.Email(" Ann@Example.org "); err != nil || got != "ann@example.org" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "ann", "Ann <ann@example.org>", "a@b, c@d", "a@b\r\nc", strings.Repeat("a", 250) + "@b.example"} {
		if got, err := people.Email(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, got)
		}
	}
}

func TestPersonIsOneOfAnIssuer(t *testing.T) {
	t.Parallel()
	a := people.Person{Issuer: "https://a", Subject: "1", Email: "x@y.example"}
	for _, b := range []people.Person{
		{Issuer: "https://b", Subject: "1", Email: "x@y.example"}, {Issuer: "https://a", Subject: "2", Email: "x@y.example"},
	} {
		if a.ID() == b.ID() || a.Home() == b.Home() {
			t.Errorf("%+v and %+v are taken for the same", a, b)
		}
	}
	if b := (people.Person{Issuer: "https://a", Subject: "1", Email: "new@y.example"}); a.ID() != b.ID() {
		t.Error("another address makes another person")
	}
}
