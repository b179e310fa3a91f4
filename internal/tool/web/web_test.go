package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/web"
)

// loopback sends requests without following redirects, as the tools' Fetcher must.
func loopback(t testing.TB) *http.Client {
	transport := &http.Transport{MaxResponseHeaderBytes: 1 << 20}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func openWeb(t testing.TB, f web.Fetcher, s web.Searcher) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tool.Options{}, web.Tools(f, s)...)
	must(t, err)
	return set
}

// says answers with a type and a text.
func says(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}
}

const article = `<!doctype html><html><head><title>The  Title</title><script>var x = "SCRIPT"</script><style>p{color:STYLE}</style></head>
<body><nav><a href="/menu">MENU</a></nav><article><h1>Heading</h1>
<p>The first paragraph has <b>bold</b> words, a <a href="/there?q=1">link</a>, and enough text to be seen as the main part of the page, with commas, clauses, and so on.</p>
<p>The second paragraph goes on for a while, so that the algorithm, which counts letters and commas, is sure about it, and nobody has to guess.</p>
<table><thead><tr><th>Name</th><th>Value</th></tr></thead><tbody><tr><td>one</td><td>1</td></tr><tr><td>two</td><td>2</td></tr></tbody></table>
<pre><code>func main() {}</code></pre>
<p>The third paragraph ends it, with a few more words, some commas, and a full stop, as it should be in any text of this kind.</p></article>
<footer>FOOTER</footer></body></html>`

func TestFetchedPagesAreText(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/article", says("text/html; charset=utf-8", article))
	mux.Handle("/short", says("text/html", "<p>Hello <i>there</i></p>"))
	mux.Handle("/latin1", says("text/html; charset=iso-8859-1", "<p>caf\xe9</p>"))
	mux.Handle("/meta", says("text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2</p>"))
	mux.Handle("/plain", says("text/plain", "as <it> is\n"))
	mux.Handle("/utf16", says("text/plain", "\xff\xfeh\x00i\x00"))
	mux.Handle("/json", says("application/vnd.api+json", `{"a": [1, 2]}`))
	mux.Handle("/xml", says("application/atom+xml", `<a><b/></a>`))
	mux.Handle("/moved", http.RedirectHandler("/plain", http.StatusMovedPermanently))
	mux.Handle("/empty", says("text/html", ""))
	server := httptest.NewServer(mux)
	defer server.Close()
	s := openWeb(t, loopback(t), nil)
	var out strings.Builder
	for _, args := range []string{
		`"/article"`, `"/article","whole":true`, `"/short"`, `"/latin1"`, `"/meta"`, `"/plain"`, `"/utf16"`, `"/json"`, `"/xml"`, `"/moved#part"`, `"/empty"`,
		`"/plain","offset":3`, `"/plain","offset":11`, `"/plain","prompt":"What does it say?"`,
	} {
		r := ask(t, s, "WebFetch", `{"url":"`+server.URL+strings.TrimPrefix(args, `"`)+`}`)
		fmt.Fprintf(&out, "== %s: %s\n%s\n", args, r.End, r.Text)
	}
	golden(t, "web.golden", strings.ReplaceAll(out.String(), server.URL, "http://site"))

	r := ask(t, s, "web_fetch", `{"url":"`+server.URL+`/moved"}`)
	want := tool.Facts{Fetched: []tool.Page{{URL: server.URL + "/plain", Status: 200, Hash: hashOf("as <it> is\n")}}}
	if diff := cmp.Diff(want, r.Facts); diff != "" {
		t.Error(diff)
	}
}

func TestALongPageComesInParts(t *testing.T) {
	var page strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&page, "ligne n° %d\n", i)
	}
	server := httptest.NewServer(says("text/plain; charset=utf-8", page.String()))
	defer server.Close()
	s := openWeb(t, loopback(t), nil)
	var whole strings.Builder
	for offset, parts := 0, 0; ; parts++ {
		r := ask(t, s, "web_fetch", fmt.Sprintf(`{"url":%q,"offset":%d}`, server.URL, offset))
		if r.End != tool.EndOK || r.Whole != "" || parts > 100 {
			t.Fatalf("%s %.200s", r.End, r.Text)
		}
		_, text, _ := strings.Cut(r.Text, ":\n\n")
		part, rest, more := strings.Cut(text, "\n[bytes ")
		whole.WriteString(part)
		if !more {
			break
		}
		from, to, of, next := 0, 0, 0, 0
		if _, err := fmt.Sscanf(rest, "%d to %d of %d: go on with offset %d]", &from, &to, &of, &next); err != nil || from != offset || of != page.Len() {
			t.Fatalf("%q: %v", rest, err)
		}
		offset = next
	}
	if whole.String() != page.String() {
		t.Errorf("%d bytes came of %d", whole.Len(), page.Len())
	}
}

func TestAddressesThatAreNotFetched(t *testing.T) {
	s := openWeb(t, refuser{t}, nil)
	for _, address := range []string{
		"file:///etc/passwd", "ftp://example.org/", "gopher://example.org/", "javascript:alert(1)", "data:text/plain,x", "//example.org/", "example.org",
		"http://", "http:///path", "https:example.org", "http://user:password@example.org/", "http://user@example.org/", "http://exa mple.org/", "http://example.org/\x00",
		"http://example.org/\n", "http://[::1", "http://example.org:port/", "HTTP2://x/", "http://%zz/", "http://example.org/" + strings.Repeat("a", 5000),
	} {
		if r := ask(t, s, "web_fetch", arguments(t, "url", address)); r.End != tool.EndFailed || strings.Contains(r.Text, "password@") {
			t.Errorf("%.60q: %s %.200s", address, r.End, r.Text)
		}
	}
}

// refuser fails the test when it is asked.
type refuser struct{ t *testing.T }

func (r refuser) Do(request *http.Request) (*http.Response, error) {
	r.t.Errorf("%s was asked for", request.URL)
	return nil, errors.New("not reachable")
}

func TestAFetcherThatFollowsRedirectsIsNoticed(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/from", http.RedirectHandler("/to", http.StatusFound))
	mux.Handle("/to", says("text/plain", "reached"))
	server := httptest.NewServer(mux)
	defer server.Close()
	r := ask(t, openWeb(t, server.Client(), nil), "web_fetch", `{"url":"`+server.URL+`/from"}`)
	if r.End != tool.EndFailed || !strings.Contains(r.Text, "followed a redirect by itself") || strings.Contains(r.Text, "reached") {
		t.Errorf("%s %s", r.End, r.Text)
	}
}

func TestARedirectOutOfTLSIsNotFollowed(t *testing.T) {
	plain := httptest.NewServer(says("text/plain", "reached"))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer secure.Close()
	client := secure.Client()
	client.CheckRedirect = loopback(t).CheckRedirect
	r := ask(t, openWeb(t, client, nil), "web_fetch", `{"url":"`+secure.URL+`"}`)
	if want := secure.URL + " redirects to " + plain.URL + ", which is another site: that is not followed. " +
		"If you need the page, call web_fetch with that address."; r.End != tool.EndFailed || r.Text != want {
		t.Errorf("%s %s", r.End, r.Text)
	}
}

// TestARedirectToAnotherSiteIsNotFollowed tries what differs in scheme, host or port. Nothing may
// reach the other site.
func TestARedirectToAnotherSiteIsNotFollowed(t *testing.T) {
	wall, reached := measure.NewWall(t, "1.5"), 0
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer sink.Close()
	to := ""
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer site.Close()
	s := openWeb(t, loopback(t), nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(sink.URL, "http://"), ":")
	for _, to = range []string{
		sink.URL + "/exfil?secret=42", "//127.0.0.1:" + port + "/x", "http://localhost:" + port + "/", "http://127.0.0.1:" + port,
		strings.Replace(site.URL, "http:", "https:", 1) + "/x", strings.Replace(site.URL, "127.0.0.1", "localhost", 1) + "/x",
		`\\127.0.0.1:` + port, "http:///127.0.0.1:" + port + "/",
	} {
		before := reached
		r := ask(t, s, "web_fetch", `{"url":"`+site.URL+`/from"}`)
		wall.Try(r.End != tool.EndFailed || reached != before, "%s: %s %s, the other site was reached %d times", to, r.End, r.Text, reached-before)
	}
}

// TestRulesSeeARedirectWithinASite does not allow one page of a site, and has other pages lead
// there.
func TestRulesSeeARedirectWithinASite(t *testing.T) {
	wall, to, code := measure.NewWall(t, "1.5"), "", 0
	mux := http.NewServeMux()
	mux.HandleFunc("/from", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	})
	mux.Handle("/hop", http.RedirectHandler("/admin", http.StatusFound))
	mux.Handle("/admin", says("text/plain", "the secret"))
	server := httptest.NewServer(mux)
	defer server.Close()
	call := tool.Call{ID: "1.0", Tool: "web_fetch", Args: json.RawMessage(`{"url":"` + server.URL + `/from"}`)}
	call.May = func(met tool.About) (bool, error) {
		return !slices.Contains(met.Matters[0].Forms, server.URL+"/admin"), nil
	}
	s := openWeb(t, loopback(t), nil)
	for _, code = range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, to = range []string{"/admin", "/adm%69n", "admin", "./x/../admin", server.URL + "/admin", "/hop"} {
			r, err := s.Run(t.Context(), call)
			must(t, err)
			refused := r.End == tool.EndFailed && strings.Contains(r.Text, ", which it was not allowed to read")
			wall.Try(!refused || strings.Contains(r.Text, "the secret"), "%d to %s: %s %s", code, to, r.End, r.Text)
		}
	}
}

func TestDefinitionsOfWebTools(t *testing.T) {
	s := openWeb(t, refuser{t}, web.NewTavily(refuser{t}, tavilyURL, "key"))
	got := map[string]string{}
	for _, d := range s.Definitions([]string{"*"}) {
		got[d.Name] = strings.Join(d.Aliases, " ")
		if d.Class != chat.ClassPure || d.Writes || !d.Network {
			t.Errorf("%s: %+v", d.Name, d)
		}
	}
	if diff := cmp.Diff(map[string]string{"web_fetch": "WebFetch", "web_search": "WebSearch tavily_search"}, got); diff != "" {
		t.Error(diff)
	}
}

const (
	key       = "tvly-SECRET-KEY"
	tavilyURL = "https://api.tavily.com/search"
)

func TestTavilyIsAsked(t *testing.T) {
	var asked map[string]any
	const answer = `{"query":"q","results":[
		{"title":"First\nhit","url":"https://a.example/1","content":"Some   text.","score":0.9},
		{"title":"Second","url":"https://b.example/2","content":""}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer "+key || strings.Contains(r.URL.String(), key) {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		says("application/json", answer)(w, r)
	}))
	defer server.Close()
	s := openWeb(t, loopback(t), web.NewTavily(loopback(t), server.URL, key))
	want := tool.Result{
		End: tool.EndOK, Text: "1. First hit\n   https://a.example/1\n   Some text.\n2. Second\n   https://b.example/2\n",
		Facts: tool.Facts{Fetched: []tool.Page{{URL: server.URL, Status: 200, Hash: hashOf(answer)}}},
	}
	if diff := cmp.Diff(want, ask(t, s, "WebSearch", `{"query":"needle","allowed_domains":["a.example"]}`)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"query": "needle", "max_results": 5.0, "include_domains": []any{"a.example"}}, asked); diff != "" {
		t.Error(diff)
	}
	if r := ask(t, s, "web_search", `{"query":"needle","limit":1}`); strings.Contains(r.Text, "Second") || asked["max_results"] != 1.0 {
		t.Errorf("%v %s", asked, r.Text)
	}
}

func TestTheKeyIsInNoTextAndNoError(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"401":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad key "+key, http.StatusUnauthorized) },
		"429":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, key, http.StatusTooManyRequests) },
		"500":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, key, http.StatusInternalServerError) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/"+key, http.StatusFound) },
		"no JSON":  says("application/json", key),
		"wrong":    says("application/json", `{"results":"`+key+`"}`),
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, key)
		},
		"huge": says("application/json", `{"results":[],"x":"`+strings.Repeat(key, 400_000)+`"}`),
		"encoding": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", key)
			_, _ = io.WriteString(w, key)
		},
	} {
		server := httptest.NewServer(handler)
		searcher := web.NewTavily(loopback(t), server.URL, key)
		r := ask(t, openWeb(t, loopback(t), searcher), "web_search", `{"query":"needle"}`)
		if r.End != tool.EndFailed || strings.Contains(r.Text, key) {
			t.Errorf("%s: %s %.300s", name, r.End, r.Text)
		}
		_, err := searcher.Search(t.Context(), web.Query{Text: "needle", Limit: 1})
		for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%+v %#v", searcher, searcher)} {
			if err == nil || strings.Contains(text, key) {
				t.Errorf("%s: %.300s", name, text)
			}
		}
		server.Close()
		if r := ask(t, openWeb(t, loopback(t), searcher), "web_search", `{"query":"needle"}`); r.End != tool.EndFailed || strings.Contains(r.Text, key) {
			t.Errorf("%s, closed: %s %s", name, r.End, r.Text)
		}
	}
	leaky := fetcherFunc(func(request *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("cannot send %v", request.Header)
	})
	_, err := web.NewTavily(leaky, tavilyURL, key).Search(t.Context(), web.Query{Text: "needle", Limit: 1})
	if err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("a fetcher that quotes the request: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := web.NewTavily(loopback(t), tavilyURL, key).Search(ctx, web.Query{Text: "x", Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search gave %v", err)
	}
}

type fetcherFunc func(*http.Request) (*http.Response, error)

func (f fetcherFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }
