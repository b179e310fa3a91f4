// Package web holds the tools that read the web: web_fetch and web_search. Beside each X.go lies
// X.md, which is what the model is told.
//
// It imports chat and tool. Every request goes through a Fetcher of the caller's, which decides
// what may be reached; redirects are asked for anew. Time, size and what a page unpacks to are
// bounded, and what was left out of an answer is said.
package web

import (
	"time"

	"github.com/retinue-dev/retinue/internal/tool"
)

// fetchTimeout is how long one call may take.
const fetchTimeout = 30 * time.Second

// Tools are one that fetches and, with a searcher, one that searches. All requests go through what
// the caller gives.
func Tools(f Fetcher, s Searcher) []tool.Tool {
	tools := []tool.Tool{webFetch{f}}
	if s != nil {
		tools = append(tools, webSearch{s})
	}
	return tools
}
