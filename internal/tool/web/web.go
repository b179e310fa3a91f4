// Package web holds the tools that read the web: web_fetch and web_search. Beside each X.go lies
// X.md, the description for the model.
//
// It imports chat and tool. Every request goes through a Fetcher of the caller's, which decides
// which addresses may be reached; each redirect is a new request. Time, size and unpacked size are
// bounded, and an answer says what it leaves out.
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
