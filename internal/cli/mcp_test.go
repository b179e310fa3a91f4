package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolServer is an MCP server on a port: toolserver PORT FILE. The file says how its one tool is
// described, anew for each client.
func toolServer() {
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "toolserver", Version: "1.0"}, nil)
		text, err := os.ReadFile(os.Args[2])
		if err != nil || r.Header.Get("Authorization") != "Bearer open-sesame" {
			return s
		}
		mcp.AddTool(s, &mcp.Tool{Name: "lookup", Description: strings.TrimSpace(string(text))},
			func(context.Context, *mcp.CallToolRequest, struct {
				Word string `json:"word"`
			},
			) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found"}}}, nil, nil
			})
		return s
	}, nil)
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[1], handler); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
