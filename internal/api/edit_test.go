package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// TestAnApprovalWithOtherArguments allows a call with arguments of the person's own, to the last
// digit.
func TestAnApprovalWithOtherArguments(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.busyTalk(t)
	at := path + "/approvals/main~1.0.0:1.0/decision"
	const body = `{"allow":true,"hash":"h1","args":{"command":"ls -l","limit":12345678901234567890,"deep":{"a":[1.50,true,null]}}}`
	const text = `{"command":"ls -l","deep":{"a":[1.50,true,null]},"limit":12345678901234567890}`
	var first, again wire.Approval
	o.send(t, http.MethodPost, at, "key-edit", body).into(t, 200, &first)
	o.send(t, http.MethodPost, at, "key-edit", body).into(t, 200, &again)
	if !first.Edited || string(first.Args) != text || string(again.Args) != text || first.Scope != "once" {
		t.Errorf("it is answered %+v, then %+v", first, again)
	}
	entries, err := o.log.Find(t.Context(), ref, journal.ApprovalDecided{In: hand, Call: "1.0"}.Key())
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if row, _ := entries[0].Row.(journal.ApprovalDecided); row.Args != text || row.Hash != "h1" || row.Scope != "once" {
		t.Errorf("on record is %+v", row)
	}
	for what, other := range map[string]string{
		"the same key with other arguments": `{"allow":true,"hash":"h1","args":{"command":"rm"}}`,
		"the same key without":              `{"allow":true,"hash":"h1"}`,
	} {
		o.refuses(t, what, o.send(t, http.MethodPost, at, "key-edit", other), 409, "conflict")
	}
	var list wire.Page[wire.Approval]
	o.send(t, http.MethodGet, path+"/approvals", "", "").into(t, 200, &list)
	if len(list.Items) != 1 || !list.Items[0].Edited || list.Items[0].Args != nil {
		t.Errorf("the list is %+v", list.Items)
	}
}

// TestArgumentsThatCannotBeDecided refuses what has no meaning, and says what to do.
func TestArgumentsThatCannotBeDecided(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.busyTalk(t)
	before := o.seq(t, ref)
	at := path + "/approvals/main~1.0.0:1.0/decision"
	for what, body := range map[string]string{
		"a no":                      `{"allow":false,"hash":"h1","args":{"command":"ls -l"}}`,
		"for the task":              `{"allow":true,"hash":"h1","scope":"task","args":{"command":"ls -l"}}`,
		"for the conversation":      `{"allow":true,"hash":"h1","scope":"conversation","args":{"command":"ls -l"}}`,
		"a list":                    `{"allow":true,"hash":"h1","args":["ls"]}`,
		"a text":                    `{"allow":true,"hash":"h1","args":"{}"}`,
		"more than a call may have": `{"allow":true,"hash":"h1","args":{"command":"` + strings.Repeat("x", 200_001) + `"}}`,
	} {
		o.refuses(t, what, o.send(t, http.MethodPost, at, "key-edit", body), 422, "invalid")
	}
	o.refuses(t, "another version", o.send(t, http.MethodPost, at, "key-edit", `{"allow":true,"hash":"h2","args":{"command":"ls"}}`), 409, "conflict")
	// what the worker that has the tools says
	for code, want := range map[chat.Code]struct {
		status int
		code   string
	}{chat.CodeInvalid: {422, "invalid"}, chat.CodeConflict: {409, "conflict"}, chat.CodeUnavailable: {503, "unavailable"}} {
		o.refuses(t, string(code), o.send(t, http.MethodPost, at, "key-edit", `{"allow":true,"hash":"h1","args":{"refuse":"`+string(code)+`"}}`), want.status, want.code)
	}
	if after := o.seq(t, ref); after != before {
		t.Errorf("refused decisions wrote %d rows", after-before)
	}
	if r := o.send(t, http.MethodPost, at, "key-edit", `{"allow":true,"hash":"h1","args":{}}`); r.Status != 200 {
		t.Errorf("it does not wait any more: %s", r.Body)
	}
}
