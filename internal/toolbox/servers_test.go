package toolbox

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
)

// notesServer is an MCP server whose only tool says a word.
func notesServer(t *testing.T, word string) string {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "say", Description: "says " + word}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: word}}}, nil, nil
	})
	front := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() }) // a session stays open until its client closes it
	return front.URL
}

// TestAServerIsOfUseOnceItIsApproved adds a server, approves its tool, and takes it out again.
func TestAServerIsOfUseOnceItIsApproved(t *testing.T) {
	loaded := settings(t, "data_dir: "+t.TempDir()+"\n")
	manager := OpenMCPManager(loaded)
	t.Cleanup(func() {
		if err := manager.Close(); err != nil {
			t.Error(err)
		}
	})
	file, err := manager.Add(config.ScopeUser, "notes", config.ServerEntry{Type: "http", URL: notesServer(t, "hello")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	listed := manager.List(t.Context())
	if len(listed) != 1 || listed[0].Err != nil || len(listed[0].Report.Tools) != 1 || listed[0].Report.Tools[0].State != ToolNew {
		t.Fatalf("the servers are %+v", listed)
	}
	if err := manager.Approve(listed[0]); err != nil {
		t.Fatal(err)
	}
	if s, err := manager.Look(t.Context(), "notes"); err != nil || s.Report.Tools[0].State != ToolApproved {
		t.Errorf("%+v, %v", s.Report, err)
	}
	if _, err := manager.Look(t.Context(), "nobody"); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("a server that is not there: %v", err)
	}
	if _, err := manager.Remove(config.ScopeUser, "notes"); err != nil {
		t.Fatal(err)
	}
	if left := manager.Servers().List; len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
}
