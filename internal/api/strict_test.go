package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/wire"
)

func TestStrictBodies(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.begin(t, "key-begin")
	before := o.seq(t, ref)
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for what, c := range map[string]struct {
		body   string
		status int
	}{
		"an unknown field":       {`{"text":"a","colour":"blue"}`, 422},
		"another case":           {`{"Text":"a"}`, 422},
		"a name twice":           {`{"text":"a","text":"b"}`, 400},
		"something behind it":    {`{"text":"a"} {}`, 400},
		"nesting without end":    {`{"text":` + nested(100) + `}`, 400},
		"nesting too deep":       {`{"text":` + nested(64) + `}`, 400},
		"nesting deep enough":    {`{"text":` + nested(63) + `}`, 422}, // it is read, and is no text
		"nesting of objects":     {strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), 400},
		"a name twice in a list": {`{"text":[{"a":1,"a":2}]}`, 400},
		"no JSON":                {`text=a`, 400},
		"half of it":             {`{"text":"a`, 400},
		"no body":                {``, 400},
		"null":                   {`null`, 422},
		"a list":                 {`["text"]`, 422},
		"nothing said":           {`{"text":""}`, 422},
		"another type":           {`{"text":7}`, 422},
		"more than is allowed":   {`{"text":"` + strings.Repeat("a", 200_001) + `"}`, 422},
		"more than is read":      {`{"text":"` + strings.Repeat("a", 2<<20) + `"}`, 413},
		"a missing field":        {`{"in_reply_to":"q"}`, 422},
		"a name twice, deeper":   {`{"text":{"a":1,"a":2}}`, 400},
		"an escape of a name":    {`{"text":"a","\u0074ext":"b"}`, 400},
		"something after a line": {"{\"text\":\"a\"}\n1", 400},
	} {
		r := o.send(t, http.MethodPost, path+"/messages", "key-strict", c.body)
		if r.Status != c.status || !strings.Contains(string(r.Body), `"code":"invalid"`) {
			t.Errorf("%s is answered %d, want %d: %.300s", what, r.Status, c.status, r.Body)
		}
	}
	if after := o.seq(t, ref); after != before {
		t.Errorf("refused bodies wrote %d rows", after-before)
	}
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.begin(t, "key-begin")
	before := o.seq(t, ref)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/cbor"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.URL+path+"/messages", strings.NewReader(`{"text":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+officeToken)
		r.Header.Set("Idempotency-Key", "key-kind")
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		if got := o.do(t, r); got.Status != http.StatusUnsupportedMediaType {
			t.Errorf("a body of type %q is answered %d: %s", kind, got.Status, got.Body)
		}
	}
	if after := o.seq(t, ref); after != before {
		t.Errorf("refused bodies wrote %d rows", after-before)
	}
	var m wire.Message
	o.send(t, http.MethodPost, path+"/messages", "key-kind", `{"text":"a"}`).into(t, 201, &m)
}

func TestStrictQueries(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, _ := o.begin(t, "key-begin")
	for _, query := range []string{"?limit=0", "?limit=1001", "?limit=x", "?before=-1", "?colour=blue", "?limit=1&Limit=2"} {
		o.refuses(t, query, o.send(t, http.MethodGet, path+"/messages"+query, "", ""), 422, "invalid")
	}
	o.refuses(t, "a cursor that is none", o.send(t, http.MethodGet, "/v1/conversations?cursor=x", "", ""), 422, "invalid")
}
