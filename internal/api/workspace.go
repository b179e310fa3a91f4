package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/wire"
)

type workspacesOutput struct {
	Body struct {
		Items []wire.WorkspaceInfo `json:"items" doc:"In order of name."`
	}
}

func (s *Server) workspaceRoutes() {
	route.Add(s.table, admission.AccessRead, huma.Operation{
		OperationID: "listWorkspaces", Method: http.MethodGet, Path: "/v1/workspaces",
		Summary: "The workspaces that conversations of your tenant may name", Tags: []string{"settings"},
	}, s.workspaces)
}

func (s *Server) workspaces(ctx context.Context, _ *struct{}) (*workspacesOutput, error) {
	out := &workspacesOutput{}
	out.Body.Items = []wire.WorkspaceInfo{}
	if s.options.Installation == nil {
		return out, nil
	}
	list, err := s.options.Installation.Workspaces(ctx, admission.CallerOf(ctx))
	out.Body.Items = append(out.Body.Items, list...)
	return out, err
}
