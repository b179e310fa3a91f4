package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/wire"
)

// Installation is what a server can tell of the machine and the settings that it runs with.
type Installation interface {
	// Settings are those in force, as the caller may see them. There is no secret among them.
	Settings(ctx context.Context, caller admission.Caller) (wire.Settings, error)
	// Workspaces are those that the caller's tenant has.
	Workspaces(ctx context.Context, caller admission.Caller) ([]wire.WorkspaceInfo, error)
	// Files are paths of a workspace in which a text occurs, at most so many.
	Files(ctx context.Context, workspace, text string, most int) (wire.FileList, error)
}

// filesMost is how many paths a completion gets.
const filesMost = 50

type (
	settingsOutput struct{ Body wire.Settings }
	filesInput     struct {
		Workspace string `query:"workspace" maxLength:"1024" doc:"Whose files; empty means that of conversations that name none."`
		Text      string `query:"q" maxLength:"200" doc:"What the path must hold, without regard to case."`
	}
	filesOutput struct{ Body wire.FileList }
)

func (s *Server) settingsRoutes() {
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"settings"}}
	}
	route.Add(s.table, admission.AccessRead, read("getSettings", "/v1/settings", "How the installation is set up, without secrets"), s.settingsInfo)
	route.Add(s.table, admission.AccessRead, read("listFiles", "/v1/files", "Paths of a workspace, to complete what somebody types"), s.files)
}

func (s *Server) settingsInfo(ctx context.Context, _ *noInput) (*settingsOutput, error) {
	if s.options.Installation == nil {
		return nil, &chat.Error{Code: chat.CodeNotFound, Message: "this server does not tell its settings"}
	}
	out, err := s.options.Installation.Settings(ctx, admission.CallerOf(ctx))
	out.Version = s.options.Version
	out.Providers, out.Tiers, out.Items = append([]wire.Provider{}, out.Providers...), append([]wire.Tier{}, out.Tiers...), append([]wire.Setting{}, out.Items...)
	return &settingsOutput{Body: out}, err
}

func (s *Server) files(ctx context.Context, in *filesInput) (*filesOutput, error) {
	out := wire.FileList{Reason: "the server does not have the workspace"}
	if s.options.Installation != nil {
		var err error
		if out, err = s.options.Installation.Files(ctx, in.Workspace, in.Text, filesMost); err != nil {
			return nil, err
		}
	}
	out.Items = append([]string{}, out.Items...)
	return &filesOutput{Body: out}, nil
}
