package export_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
)

var mainTask = journal.In{Agent: "main", Task: "main"}

// exported is a server with a conversation, and its export.
func exported(t *testing.T, rows ...journal.Row) (*apitest.Server, *client.Client, string) {
	t.Helper()
	s := apitest.Start(t, nil)
	c := &client.Client{BaseURL: s.URL, Key: apitest.Token, HTTP: s.Contract.Client(t)}
	talk, err := c.Create(t.Context(), wire.NewConversation{Title: "Plums", Message: "Hello"})
	if err != nil {
		t.Fatal(err)
	}
	ref := journal.Ref{Tenant: apitest.Tenant, Conversation: talk.ID}
	if err := s.Log.Keep(t.Context(), ref, "a prompt"); err != nil {
		t.Fatal(err)
	}
	rows = append(rows, journal.ModelCalled{In: mainTask, Call: "1.1", Prompt: journal.HashOf("a prompt")})
	for i, row := range rows {
		if _, err := s.Log.Append(t.Context(), ref, time.UnixMilli(int64(1_700_000_000_000+i)), row); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := c.Export(t.Context(), talk.ID, &out); err != nil {
		t.Fatal(err)
	}
	return s, c, out.String()
}

// TestImport makes a conversation out of an export, once.
func TestImport(t *testing.T) {
	s, c, export := exported(t, journal.NoteAdded{In: mainTask, Serial: 1, Note: "a"}, journal.NoteAdded{In: mainTask, Serial: 2, Note: "b"})
	c = c.Keyed("the same import")
	first, err := c.Import(t.Context(), strings.NewReader(export))
	if err != nil {
		t.Fatal(err)
	}
	if !journal.Imported(first.ID) || !first.Archived || first.Title != "Plums" {
		t.Errorf("imported as %+v", first)
	}
	second, err := c.Import(t.Context(), strings.NewReader(export))
	if err != nil || second != first {
		t.Errorf("a second time it is %+v, %v; the first time %+v", second, err, first)
	}
	if err := journaltest.Verify(t.Context(), s.Log, journal.Ref{Tenant: apitest.Tenant, Conversation: first.ID}); err != nil {
		t.Error(err)
	}
	var again bytes.Buffer
	if err := c.Export(t.Context(), first.ID, &again); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(export, "\n") {
		if i > 0 && !strings.HasPrefix(line, `{"entries"`) && !strings.Contains(again.String(), line) {
			t.Errorf("the export of the import lacks %s", line)
		}
	}
}

// TestImportRefuses what is not whole, not ours, or not at its end, and leaves nothing behind.
func TestImportRefuses(t *testing.T) {
	_, c, export := exported(t)
	lines := strings.SplitAfter(strings.TrimSuffix(export, "\n"), "\n")
	change := func(n int, from, to string) string {
		changed := append([]string{}, lines...)
		if changed[n] = strings.Replace(lines[n], from, to, 1); changed[n] == lines[n] {
			t.Fatalf("line %d has no %s: %s", n+1, from, lines[n])
		}
		return strings.Join(changed, "") + "\n"
	}
	drop := func(n int) string {
		return strings.Join(append(append([]string{}, lines[:n]...), lines[n+1:]...), "") + "\n"
	}
	_, _, open := exported(t, journal.ApprovalRequested{In: mainTask, Call: "1.0", Tool: "shell", Hash: "h"})
	_, _, posted := exported(t, journal.MailPosted{ID: "message:x", Topic: "message"})
	last := len(lines) - 1
	tests := []struct{ name, export, want string }{
		{"nothing", "", "the end is missing"},
		{"something else", "{\"a\":1}\n", "not an export"},
		{"another version", change(0, `"version":1`, `"version":2`), "of version 2"},
		{"cut off", strings.Join(lines[:last], ""), "the end is missing"},
		{"a row missing", drop(2), "it is not entry 2"},
		{"a text missing", drop(last - 1), "there should be"},
		{"another text", change(last-1, "a prompt", "another"), "hash does not fit"},
		{"another key", change(1, `"key":"opened"`, `"key":"closed"`), "key does not fit"},
		{"an unknown kind", change(2, `"kind":"task_assigned"`, `"kind":"invented"`), "it is not entry 2"},
		{"a name twice", change(1, `{"seq":1`, `{"seq":1,"seq":1`), "there twice"},
		{"an unknown field", change(1, `{"seq":1`, `{"seq":1,"more":1`), "unknown field"},
		{"a time to come", change(1, `"at":"2`, `"at":"9`), "time cannot be right"},
		{"an orphan", change(2, `"agent":"main","task":"main"`, `"agent":"main/1","task":"main/1"`), "line 3"},
		{"more behind the end", export + "{}\n", "behind the end"},
		{"something waits", open, "waited for a person"},
		{"something is not told", posted, "waited for a person"},
	}
	before := count(t, c)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.Import(t.Context(), strings.NewReader(test.export))
			p, ok := errors.AsType[*client.Problem](err)
			if !ok || !strings.Contains(p.Detail, test.want) || p.Status/100 != 4 || p.Next == "" {
				t.Errorf("the answer is %v, want %q", err, test.want)
			}
		})
	}
	if after := count(t, c); after != before {
		t.Errorf("%d conversations are left behind", after-before)
	}
	large := export + strings.Repeat(" ", 64<<20)
	_, err := c.Import(t.Context(), strings.NewReader(large))
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("64 MB and more give %v", err)
	}
}

func count(t *testing.T, c *client.Client) int {
	t.Helper()
	n := 0
	for _, archived := range []bool{false, true} {
		list, err := c.Conversations(t.Context(), client.ListOptions{Archived: archived})
		if err != nil {
			t.Fatal(err)
		}
		n += len(list.Items)
	}
	return n
}
