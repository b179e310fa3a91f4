package web

import (
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed web_search.md
var webSearchText string

// Searcher is a search engine of the web.
type Searcher interface {
	// Search returns hits in the order of their worth. Its errors are told to the model: they hold
	// no key.
	Search(ctx context.Context, q Query) (Found, error)
}

// Query is the search text.
type Query struct {
	Text string
	// Limit is how many hits are wanted at most.
	Limit int
	// Include are the only sites to search, if set; Exclude are left out.
	Include, Exclude []string
}

// Found is the result of a search.
type Found struct {
	Hits []Hit
	// Page is the request that was answered.
	Page tool.Page
}

// Hit is a page that a search found.
type Hit struct{ Title, URL, Text string }

type webSearch struct{ searcher Searcher }

const (
	// hitsAsked is how many hits a call gets that names no limit.
	hitsAsked = 5
	// titleBytes and hitBytes are how much of a hit's title and text is shown.
	titleBytes = 300
	hitBytes   = 1500
)

func (webSearch) Definition() tool.Definition {
	return tool.Definition{
		Name: "web_search", Aliases: []string{"WebSearch", "tavily_search"}, Description: webSearchText,
		Class: chat.ClassPure, Network: true, Timeout: fetchTimeout,
		Synonyms: map[string]string{
			"max_results": "limit", "allowed_domains": "include_sites", "blocked_domains": "exclude_sites",
			"include_domains": "include_sites", "exclude_domains": "exclude_sites",
		},
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"query": {"type": "string", "minLength": 2, "maxLength": 400, "description": "What to look for."},
				"limit": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How many hits to show; 5 if left out."},
				"include_sites": {"type": "array", "maxItems": 20, "items": {"type": "string", "minLength": 1, "maxLength": 253}, "description": "Search only these sites, for example go.dev."},
				"exclude_sites": {"type": "array", "maxItems": 20, "items": {"type": "string", "minLength": 1, "maxLength": 253}, "description": "Leave these sites out."}
			},
			"required": ["query"],
			"additionalProperties": false
		}`),
	}
}

func (t webSearch) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args := struct {
		Query        string
		Limit        int
		IncludeSites []string `json:"include_sites"`
		ExcludeSites []string `json:"exclude_sites"`
	}{Limit: hitsAsked}
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	found, err := t.searcher.Search(ctx, Query{Text: args.Query, Limit: args.Limit, Include: args.IncludeSites, Exclude: args.ExcludeSites})
	if err != nil {
		return tool.Result{}, err
	}
	var out strings.Builder
	if len(found.Hits) == 0 {
		out.WriteString("Nothing was found: try other words.\n")
	}
	for i, h := range found.Hits[:min(args.Limit, len(found.Hits))] {
		fmt.Fprintf(&out, "%d. %s\n   %s\n", i+1, oneLine(h.Title, titleBytes), tool.Show(oneLine(h.URL, urlBytes)))
		if text := oneLine(h.Text, hitBytes); text != "" {
			fmt.Fprintf(&out, "   %s\n", text)
		}
	}
	return tool.Result{Text: out.String(), Facts: tool.Facts{Fetched: []tool.Page{found.Page}}}, nil
}

// oneLine puts a text on one line of so many bytes at most.
func oneLine(text string, most int) string {
	return tool.CutLine([]byte(strings.Join(strings.Fields(text), " ")), 0, most)
}

// About implements tool.Accountable: a rule knows a search by its words. All searches go to one
// engine, and a wider approval covers them all.
func (webSearch) About(call tool.Call) tool.About {
	var args struct{ Query string }
	if err := call.Decode(&args); err != nil {
		return hidden("")
	}
	return tool.About{Matters: []tool.Matter{{Forms: []string{args.Query}}}, Pattern: "*"}
}
