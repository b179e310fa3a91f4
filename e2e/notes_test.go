//go:build services

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notesServer is the argument by which this binary is an MCP server instead of a test.
const notesServer = "notes-server"

// serveNotes is an MCP server on the standard streams. It reads notes of the workspace and writes
// down those that it is sent.
func serveNotes(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "read", Description: "Reads a note."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			ID string `json:"id"`
		},
		) (*mcp.CallToolResult, any, error) {
			text, err := os.ReadFile(filepath.Join("notes", filepath.Base(in.ID)))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "send", Description: "Sends a note to somebody."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Text string `json:"text"`
		},
		) (*mcp.CallToolResult, any, error) {
			file, err := os.OpenFile(sentNotes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, nil, err
			}
			_, err = file.WriteString(in.Text + "\n")
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sent"}}}, nil, errors.Join(err, file.Close())
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// sentNotes is the file of the notes that the server was sent.
const sentNotes = "notes/sent"
