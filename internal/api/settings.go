package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Installation is what a server can tell of the machine and the settings that it runs with.
type Installation interface {
	// Settings are those in force, as the caller may see them. There is no secret among them.
	Settings(ctx context.Context, caller Caller) (SettingsInfo, error)
	// Workspaces are those that the caller's tenant has.
	Workspaces(ctx context.Context, caller Caller) ([]WorkspaceInfo, error)
	// Files are paths of a workspace in which a text occurs, at most so many.
	Files(ctx context.Context, workspace, text string, most int) (FileList, error)
}

// SettingsInfo is how the installation is set up, for the person who looks at it.
type SettingsInfo struct {
	Mode      string         `json:"mode" enum:"local,hosted,demo" doc:"One person's machine, a server that several share, or a scripted model."`
	Version   string         `json:"version"`
	Providers []ProviderInfo `json:"providers"`
	Tiers     []TierInfo     `json:"tiers"`
	Items     []SettingInfo  `json:"items" doc:"Limits, budgets, rules and the like, in order of key."`
}

// ProviderInfo is a server of models.
type ProviderInfo struct {
	Name    string `json:"name"`
	Wire    string `json:"wire" enum:"anthropic,openai" doc:"The protocol that it speaks."`
	Address string `json:"address,omitempty" doc:"Where it is, without credentials; absent on a server that several share."`
	HasKey  bool   `json:"has_key" doc:"Whether its key can be found."`
	Layer   string `json:"layer" doc:"Where it was configured."`
}

// TierInfo is the model that a tier stands for.
type TierInfo struct {
	Tier  string `json:"tier" enum:"fast,balanced,strong"`
	Model string `json:"model,omitempty" doc:"As provider/model; absent if none is configured."`
	Layer string `json:"layer"`
}

// SettingInfo is one setting in force.
type SettingInfo struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Layer string `json:"layer" doc:"Where it came from."`
}

// FileList is some paths of a workspace.
type FileList struct {
	Items  []string `json:"items" doc:"Paths in the workspace, those whose name fits best first."`
	More   bool     `json:"more,omitempty" doc:"Whether there are others."`
	Reason string   `json:"reason,omitempty" doc:"Why there are none, where there cannot be any."`
}

// filesMost is how many paths a completion gets.
const filesMost = 50

type (
	settingsOutput struct{ Body SettingsInfo }
	filesInput     struct {
		Workspace string `query:"workspace" maxLength:"1024" doc:"Whose files; empty means that of conversations that name none."`
		Text      string `query:"q" maxLength:"200" doc:"What the path must hold, without regard to case."`
	}
	filesOutput struct{ Body FileList }
)

func (s *Server) settingsRoutes() {
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"settings"}}
	}
	register(s, accessRead, read("getSettings", "/v1/settings", "How the installation is set up, without secrets"), s.settingsInfo)
	register(s, accessRead, read("listFiles", "/v1/files", "Paths of a workspace, to complete what somebody types"), s.files)
}

func (s *Server) settingsInfo(ctx context.Context, _ *noInput) (*settingsOutput, error) {
	if s.options.Installation == nil {
		return nil, &chat.Error{Code: chat.CodeNotFound, Message: "this server does not tell its settings"}
	}
	out, err := s.options.Installation.Settings(ctx, callerOf(ctx))
	out.Version = s.options.Version
	out.Providers, out.Tiers, out.Items = append([]ProviderInfo{}, out.Providers...), append([]TierInfo{}, out.Tiers...), append([]SettingInfo{}, out.Items...)
	return &settingsOutput{Body: out}, err
}

func (s *Server) files(ctx context.Context, in *filesInput) (*filesOutput, error) {
	out := FileList{Reason: "the server does not have the workspace"}
	if s.options.Installation != nil {
		var err error
		if out, err = s.options.Installation.Files(ctx, in.Workspace, in.Text, filesMost); err != nil {
			return nil, err
		}
	}
	out.Items = append([]string{}, out.Items...)
	return &filesOutput{Body: out}, nil
}
