package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/audit"
)

func TestAuditForPeople(t *testing.T) {
	at := time.Date(2026, 11, 15, 22, 0, 0, 0, time.Local)
	ann := audit.Actor{User: "p1", Credential: "session:p1", Source: "api"}
	entries := []app.AuditEntry{
		{Seq: 1, At: at, Record: audit.Record{
			Action: audit.ActionKeyCreate, Outcome: audit.Accepted, Actor: ann, Object: "k1", Detail: `name="ci" from=127.0.0.1`,
		}},
		{Seq: 2, At: at, Record: audit.Record{
			Action: audit.ActionMemberRole, Outcome: audit.Failed, Actor: audit.Actor{User: "p1", Credential: "key:k1"}, Object: "m1",
			Detail: "role=owner\n3  error=conflict\x1b[2J",
		}},
		{Seq: 3, At: at, Record: audit.Record{Action: audit.ActionDeny, Outcome: audit.Denied, Detail: "unauthorised at GET /v1/me"}},
	}
	var out strings.Builder
	if err := writeEntries(&out, entries); err != nil {
		t.Fatal(err)
	}
	want := `1  2026-11-15 22:00:00  key.create            p1            k1  name="ci" from=127.0.0.1
2  2026-11-15 22:00:00  member.role (failed)  p1 by key:k1  m1  role=owner�3  error=conflict�[2J
3  2026-11-15 22:00:00  access.deny (denied)  -             -   unauthorised at GET /v1/me
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
