package audit_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestCertificate deletes a tenant by its trail. Earlier erasures are not in the certificate, a
// repeated request gives one, and a trail that differs from the certificate is refused.
func TestCertificate(t *testing.T) {
	trail := trail(t)
	write := func(records ...audit.Record) {
		t.Helper()
		for _, r := range records {
			if err := trail.Write(t.Context(), "acme", r); err != nil {
				t.Fatal(err)
			}
		}
	}
	erase := func(id, detail string) audit.Record {
		return audit.Record{Action: audit.ActionErase, Conversation: id, Detail: detail}
	}
	ask := audit.Record{Action: audit.ActionTenantDelete, Actor: audit.Actor{User: "u1", Source: "api"}}
	failed := ask
	failed.Outcome = audit.Failed
	write(erase("c0", "rows=9 texts=9 bytes=9"), ask, failed, erase("c1", "rows=8 texts=8 bytes=8"))
	if err := trail.Certify(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if list := certificates(t, trail); len(list) != 0 {
		t.Errorf("a request that came to nothing has a certificate: %+v", list[0])
	}
	write(ask, ask, erase("c3", "rows=1 texts=0 bytes=10"), erase("c2", "rows=2 texts=1 bytes=20"), erase("c2", "rows=3 texts=1 bytes=30"))
	if list := certificates(t, trail); len(list) != 1 || list[0].Seq != 0 {
		t.Errorf("while it is under way: %+v", list)
	}
	for range 2 {
		if err := trail.Certify(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
	}
	list := certificates(t, trail)
	if len(list) != 1 {
		t.Fatalf("%d certificates", len(list))
	}
	got := *list[0]
	want := audit.Certificate{
		Tenant: "acme", Actor: ask.Actor, Began: got.Began, From: 5, Ended: got.Ended, Seq: 10, Fits: true,
		Erased: map[string]journal.Weight{"c2": {Rows: 3, Texts: 1, Bytes: 30}, "c3": {Rows: 1, Bytes: 10}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(journal.Weight{Rows: 4, Texts: 1, Bytes: 40}, got.Sum()); diff != "" {
		t.Error(diff)
	}
	forged := forger{trail, func(e *audit.Entry) {
		if e.Conversation == "c3" {
			e.Detail = "rows=7 texts=0 bytes=10"
		}
	}}
	list, err := audit.Certificates(t.Context(), forged, "acme")
	if err != nil || len(list) != 1 || list[0].Fits {
		t.Errorf("a trail that says something else fits the certificate: %+v, %v", list, err)
	}
}

func certificates(t *testing.T, log audit.Reader) []*audit.Certificate {
	t.Helper()
	list, err := audit.Certificates(t.Context(), log, "acme")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// forger changes entries as they are read.
type forger struct {
	audit.Reader
	change func(*audit.Entry)
}

func (f forger) Read(ctx context.Context, tenant string, after int64, limit int) ([]audit.Entry, error) {
	list, err := f.Reader.Read(ctx, tenant, after, limit)
	for i := range list {
		f.change(&list[i])
	}
	return list, err
}
