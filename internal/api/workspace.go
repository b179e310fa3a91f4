package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// WorkspaceInfo is a folder that agents can work in.
type WorkspaceInfo struct {
	Name     string     `json:"name" doc:"What a conversation names."`
	ServedAt *time.Time `json:"served_at,omitempty" doc:"When a worker that has it was started last."`
}

type workspacesOutput struct {
	Body struct {
		Items []WorkspaceInfo `json:"items" doc:"In order of name."`
	}
}

func (s *Server) workspaceRoutes() {
	register(s, accessRead, huma.Operation{
		OperationID: "listWorkspaces", Method: http.MethodGet, Path: "/v1/workspaces",
		Summary: "The workspaces that conversations of your tenant may name", Tags: []string{"settings"},
	}, s.workspaces)
}

func (s *Server) workspaces(ctx context.Context, _ *struct{}) (*workspacesOutput, error) {
	out := &workspacesOutput{}
	out.Body.Items = []WorkspaceInfo{}
	if s.options.Installation == nil {
		return out, nil
	}
	list, err := s.options.Installation.Workspaces(ctx, callerOf(ctx))
	out.Body.Items = append(out.Body.Items, list...)
	return out, err
}
