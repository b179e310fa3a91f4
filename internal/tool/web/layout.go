package web

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/retinue-dev/retinue/internal/tool"
)

const (
	// layoutBytes and layoutNodes are the largest page that is laid out. A larger one gives only
	// its text, in order: a parsed page takes many times the memory of its bytes.
	layoutBytes = 2 << 20
	layoutNodes = 60_000
	// layoutWork is how many letters, counted once for every element around them, are laid out: the
	// search for the main part reads a text again for each.
	layoutWork = 64 << 20
)

// decode turns a body into UTF-8, by its byte order mark, its declared encoding, or its looks.
func decode(body []byte, kind string) (string, error) {
	encoding, _, _ := charset.DetermineEncoding(body, kind)
	text, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return "", tool.Refuse("the text cannot be decoded: %v", err)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if what := tool.Binary(text); what != "" {
		return "", tool.Refuse("the answer says that it is text, and is binary (%s, %d bytes)", what, len(body))
	}
	return string(text), nil
}

// layOut makes Markdown of a page. The libraries hear no context, so they work on the side: when
// ctx ends nobody waits for them.
func layOut(ctx context.Context, page string, at *url.URL, whole bool) (string, error) {
	if len(page) > layoutBytes || !manageable(page) {
		return plainText(ctx, page)
	}
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- result{err: fmt.Errorf("lay out %s: the page broke the parser", at)}
			}
		}()
		text, err := markdown(page, at, whole)
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		if r.err != nil { // nested too deep, for one
			return plainText(ctx, page)
		}
		return r.text, nil
	}
}

func markdown(page string, at *url.URL, whole bool) (string, error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", err
	}
	head, note := "", ""
	if !whole {
		parser := readability.NewParser()
		parser.DisableJSONLD = true // it holds titles, and any number of megabytes
		if article, err := parser.ParseDocument(doc, at); err == nil && article.Node != nil && strings.TrimSpace(article.TextContent) != "" {
			doc, note = article.Node, tool.Note("the main part of the page: set whole to true for all of it")
			if article.Title != "" {
				head = "# " + strings.Join(strings.Fields(article.Title), " ") + "\n\n"
			}
		}
	}
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	text, err := conv.ConvertNode(doc, converter.WithDomain(at.Scheme+"://"+at.Host))
	if err != nil {
		return "", err
	}
	return head + strings.TrimSpace(string(text)) + "\n" + note, nil
}

// formatting are the elements that a parser opens again in every block after one that left them
// open.
var formatting = []string{"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}

// scopes are the elements in which the end of an outer formatting element does not count.
var scopes = []string{"applet", "caption", "marquee", "object", "td", "template", "th"}

// void are the elements that have no end.
var void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

// manageable guesses, on the large side, whether a page can be parsed and laid out in little memory
// and time. Formatting that is left open counts again for everything after it.
func manageable(page string) bool {
	inSet := func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, name := range list {
			set[name] = true
		}
		return set
	}
	format, scope, empty := inSet(formatting), inSet(scopes), inSet(void)
	open, scoped, reopened, total, depth, work := map[string]int{}, 0, 0, 0, 0, 0
	z := html.NewTokenizer(strings.NewReader(page))
	for total <= layoutNodes && work <= layoutWork {
		switch z.Next() {
		case html.ErrorToken:
			return true
		case html.TextToken:
			total += 1 + reopened
			work += depth * len(z.Raw())
		case html.CommentToken, html.DoctypeToken:
			total++
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			total += 1 + reopened
			attributes := 0
			for ; more; attributes++ {
				_, _, more = z.TagAttr()
			}
			total += attributes
			if !empty[string(name)] {
				depth++
			}
			if format[string(name)] {
				open[string(name)]++
				reopened++
			}
			if scope[string(name)] {
				scoped++
			}
		case html.EndTagToken:
			raw, _ := z.TagName()
			name := string(raw)
			depth = max(depth-1, 0)
			if scope[name] && scoped > 0 {
				scoped--
			}
			if open[name] > 0 && scoped == 0 {
				open[name]--
				reopened--
			}
		}
	}
	return false
}

// plainText takes the words of a page in their order, without a layout.
func plainText(ctx context.Context, page string) (string, error) {
	var out strings.Builder
	hidden := ""
	z := html.NewTokenizer(strings.NewReader(page))
	for i := 0; ; i++ {
		const often = 256
		if i%often == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(out.String()) + "\n" + tool.Note("the page is too large to be laid out: this is its text"), nil
		case html.TextToken:
			if text := strings.Join(strings.Fields(string(z.Text())), " "); text != "" && hidden == "" {
				out.WriteString(text + "\n")
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if hidden == "" && (string(name) == "script" || string(name) == "style" || string(name) == "template") {
				hidden = string(name)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.SelfClosingTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}
