//go:build services

package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// TestSearchByIndex looks for a word that only old messages have, in a tenant with thousands of
// newer ones. The index finds it, behind row level security, and what other tenants and other
// people wrote stays hidden.
//
// Covers: P21.
func TestSearchByIndex(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	log := open(t, dsn)
	say := func(tenant, conversation, owner, text string) {
		t.Helper()
		opened := journal.Opened{By: "ann", PrivateTo: owner}
		said := journal.MessageReceived{ID: "m", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: text}}}
		ref := journal.Ref{Tenant: tenant, Conversation: conversation}
		if _, err := log.Append(t.Context(), ref, time.UnixMilli(1), opened, said); err != nil {
			t.Fatal(err)
		}
	}
	say("acme", "ours", "", "a kumquat tree")
	say("acme", "anns", "ann", "her kumquat")
	say("zeta", "theirs", "", "another kumquat")
	owner := connect(t, dsn, "")
	fill := `insert into messages (tenant_id, conversation_id, agent_id, seq, turn, speaker, in_chat, voided, at, words)
		select tenant, 'ours', '', 100 + i, 0, 'user', true, false, now(), array_to_tsvector(array['plum', 'n' || i])
		from generate_series(1, 3000) i, unnest(array['acme', 'zeta']) tenant`
	for _, sql := range []string{
		"insert into conversations (tenant_id, conversation_id, opened_at, updated_at) values ('zeta', 'ours', now(), now())",
		fill, "analyze messages",
	} {
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	found := func(viewer string) (out []string) {
		t.Helper()
		hits, err := log.Search(journal.For(t.Context(), viewer), "acme", journal.Query{Words: "kumquat"})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			out = append(out, h.Conversation+": "+h.Text)
		}
		return out
	}
	for viewer, want := range map[string][]string{
		"ann": {"anns: her kumquat", "ours: a kumquat tree"}, "bea": {"ours: a kumquat tree"},
	} {
		if diff := cmp.Diff(want, found(viewer)); diff != "" {
			t.Errorf("%s finds (+), not (-):\n%s", viewer, diff)
		}
	}
	used := func() string {
		return query(t, owner, "select (idx_scan > 0)::text from pg_stat_user_indexes where indexrelname = 'messages_words'")[0]
	}
	for deadline := time.Now().Add(30 * time.Second); used() != "true"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the search did not use the index on words")
		}
	}
	asked := connect(t, dsn, postgres.Role)
	keys := func(tenant, viewer string) []string {
		t.Helper()
		set := fmt.Sprintf("begin; select set_config('app.tenant', '%s', true), set_config('app.viewer', '%s', true), "+
			"set_config('app.began', extract(epoch from now())::text, true)", tenant, viewer)
		if _, err := asked.Exec(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		out := query(t, asked, "select distinct conversation_id from search_messages(array['kumquat'], '', true, 50) order by 1")
		if _, err := asked.Exec(t.Context(), "commit"); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		tenant, viewer string
		want           []string
	}{
		{"acme", "bea", []string{"ours"}},
		{"acme", "ann", []string{"anns", "ours"}},
		{"zeta", "ann", []string{"theirs"}},
		{"other", "ann", nil},
		{"", "ann", nil},
		{"*", "ann", nil},
	} {
		if diff := cmp.Diff(c.want, keys(c.tenant, c.viewer)); diff != "" {
			t.Errorf("%s of %q gets keys (+), not (-):\n%s", c.viewer, c.tenant, diff)
		}
	}
}
