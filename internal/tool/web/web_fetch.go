package web

import (
	"context"
	"crypto/sha256"
	_ "embed" // descriptions
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed web_fetch.md
var webFetchText string

type webFetch struct{ fetcher Fetcher }

func (webFetch) Definition() tool.Definition {
	return tool.Definition{
		Name: "web_fetch", Aliases: []string{"WebFetch"}, Description: webFetchText,
		Class: chat.ClassPure, Network: true, Timeout: fetchTimeout,
		Synonyms: map[string]string{"prompt": ""},
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"url": {"type": "string", "minLength": 1, "description": "The address, with http:// or https://."},
				"whole": {"type": "boolean", "description": "Show a page with its menus and margins, not only its main part."},
				"offset": {"type": "integer", "minimum": 0, "description": "The byte of the text to begin at, as the answer before said."}
			},
			"required": ["url"],
			"additionalProperties": false
		}`),
	}
}

func (t webFetch) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args struct {
		URL    string
		Whole  bool
		Offset int
	}
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	got, err := fetch(ctx, t.fetcher, args.URL, func(to *url.URL) error {
		if call.May == nil {
			return nil
		}
		may, err := call.May(aboutPage(to))
		if err == nil && !may {
			err = denied("%s redirects to %s, which it was not allowed to read. If you need the page, call web_fetch with that address.",
				tool.Show(args.URL), tool.Show(to.String()))
		}
		return err
	})
	if err != nil {
		return tool.Result{}, err
	}
	if got.status < 200 || got.status > 299 {
		return tool.Result{}, tool.Refuse("%s answered %d %s", tool.Show(got.url.String()), got.status, http.StatusText(got.status))
	}
	text, err := got.text(ctx, args.Whole)
	if err != nil {
		return tool.Result{}, err
	}
	shown, err := window(text, args.Offset)
	if err != nil {
		return tool.Result{}, err
	}
	sum := sha256.Sum256(got.body)
	return tool.Result{
		Text: fmt.Sprintf("%s says, and nobody has checked it:\n\n%s", tool.Show(got.url.String()), shown),
		Facts: tool.Facts{Fetched: []tool.Page{
			{URL: got.url.String(), Status: got.status, Hash: hex.EncodeToString(sum[:])},
		}},
	}, nil
}

// text is a body as a model reads it.
func (f fetched) text(ctx context.Context, whole bool) (string, error) {
	kind := f.kind
	if kind == "" {
		kind = http.DetectContentType(f.body)
	}
	media, _, err := mime.ParseMediaType(kind)
	if err != nil && media == "" {
		return "", tool.Refuse("%s is of no type that is known: %s", tool.Show(f.url.String()), tool.Show(kind))
	}
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		text, err := decode(f.body, kind)
		if err != nil {
			return "", err
		}
		return layOut(ctx, text, f.url, whole)
	case textual(media):
		return decode(f.body, kind)
	}
	return "", tool.Refuse("%s is %s, %d bytes: only text, HTML, JSON and XML can be read", tool.Show(f.url.String()), tool.Show(media), len(f.body))
}

// textual reports whether a type is text that needs no layout.
func textual(media string) bool {
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/yaml", "application/toml", "application/x-ndjson":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasPrefix(media, "application/") &&
		(strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml"))
}

// window shows the part of a text that fits an answer, and how to see the next.
func window(text string, from int) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "(nothing: the page has no text)\n", nil
	}
	if from >= len(text) {
		return "", tool.Refuse("the text has %d bytes: offset %d is past its end", len(text), from)
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	const room = tool.AnswerBytes - 2*urlBytes - 200 // the address stands before it, and may be quoted
	if len(text)-from <= room {
		return text[from:], nil
	}
	end := from + room
	for !utf8.RuneStart(text[end]) {
		end--
	}
	if i := strings.LastIndexByte(text[from:end], '\n'); i > room/2 {
		end = from + i + 1
	}
	return text[from:end] + "\n" + tool.Note("bytes %d to %d of %d: go on with offset %d", from, end, len(text), end), nil
}

// About implements tool.Accountable: a rule knows a page by its address, a wider approval covers
// its host.
func (webFetch) About(call tool.Call) tool.About {
	var args struct{ URL string }
	if err := call.Decode(&args); err != nil {
		return hidden("")
	}
	u, err := url.Parse(args.URL)
	if err != nil || u.Host == "" {
		return hidden(args.URL)
	}
	return aboutPage(u)
}

// aboutPage are the subjects of a page for the rules: the given address, and the plainest address
// that a server may read in the same way. The stricter verdict of the two counts.
func aboutPage(at *url.URL) tool.About {
	u := *at
	u.Scheme, u.Host, u.User, u.Fragment, u.RawFragment = strings.ToLower(u.Scheme), strings.ToLower(u.Host), nil, "", ""
	forms := []string{u.String()}
	plain := plainForm(&u)
	if plain.String() != forms[0] {
		forms = append(forms, plain.String())
	}
	return tool.About{Matters: []tool.Matter{{Forms: forms}}, Pattern: plain.Scheme + "://" + plain.Host + "/*"}
}

// plainForm is an address without the usual port, a dot after the host, needless escapes and steps
// up in its path.
func plainForm(at *url.URL) url.URL {
	u := url.URL{Scheme: strings.ToLower(at.Scheme), RawQuery: at.RawQuery, ForceQuery: at.ForceQuery}
	u.Host = strings.TrimSuffix(strings.ToLower(at.Hostname()), ".")
	if strings.Contains(u.Host, ":") {
		u.Host = "[" + u.Host + "]"
	}
	if port := at.Port(); port != "" && port != usualPorts[u.Scheme] {
		u.Host += ":" + port
	}
	if at.Path == "" {
		return u
	}
	u.Path = path.Clean("/" + at.Path)
	if strings.HasSuffix(at.Path, "/") && u.Path != "/" {
		u.Path += "/"
	}
	return u
}

// hidden is about something that no rule for some calls knows.
func hidden(text string) tool.About {
	return tool.About{Matters: []tool.Matter{{Forms: []string{text}, Hidden: true}}}
}
