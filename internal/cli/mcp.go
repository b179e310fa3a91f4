package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/settings"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/internal/toolbox"
)

const mcpLong = `Manage MCP servers, whose tools agents may use.

Servers are described in mcp.json beside your settings and in .mcp.json of the project, in the form that
other programs use too. A project's servers are used when the project is trusted (the setting trust).
Programs run in the sandbox: in the workspace, with the environment and the hosts that their entry names
and nothing else.

Agents are offered a server's tools as you approved them. When the server describes one in another way,
that tool is out of use until you approve it again.`

// mcpCommand manages MCP servers.
func mcpCommand(start local.EngineStarter) *cobra.Command {
	m := &mcpFlags{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Manage MCP servers, or run as one",
		Long:  mcpLong,
		Example: "  retinue mcp add files -- npx @modelcontextprotocol/server-filesystem .\n" +
			"  retinue mcp add issues --url https://mcp.example.com/mcp --header 'Authorization=Bearer {env:ISSUES_TOKEN}'\n" +
			"  retinue mcp list\n  retinue mcp approve files",
		Args: cobra.NoArgs,
	}
	m.Add(cmd)
	cmd.AddCommand(m.adding(), m.listing(), m.testing(), m.approving(), m.removing(), mcpServeCommand(start))
	return cmd
}

// mcpFlags are what the commands share.
type mcpFlags struct {
	settings.Flags
	scope   string
	url     string
	cwd     string
	env     []string
	headers []string
	hosts   []string
	asJSON  bool
}

// lookTime is how long servers may take to say what they offer.
const lookTime = 45 * time.Second

// with opens the manager for a while.
func (m *mcpFlags) with(cmd *cobra.Command, do func(ctx context.Context, manager *toolbox.MCPManager) error) error {
	loaded, err := m.Load(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), lookTime)
	defer cancel()
	manager := toolbox.OpenMCPManager(loaded)
	return errors.Join(do(ctx, manager), manager.Close())
}

func (m *mcpFlags) addScope(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.scope, "scope", string(config.ScopeUser), "whose it is: user (you, in every project) or project (in .mcp.json, for all who work on it)")
}

func (m *mcpFlags) scopeOf() (config.ServerScope, error) {
	switch s := config.ServerScope(m.scope); s {
	case config.ScopeUser, config.ScopeProject:
		return s, nil
	}
	return "", fmt.Errorf("--scope %s: it is user or project", m.scope)
}

func (m *mcpFlags) adding() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add NAME --url URL | add NAME -- COMMAND [ARG...]",
		Short: "Add a server and approve its tools as they are now",
		Long: "Add a server and approve its tools as they are now: it is started, or asked, and what it offers is\n" +
			"shown. Secrets stay where they are: write {env:NAME} or {file:path} in values.",
		Example: "  retinue mcp add files -- node node_modules/@modelcontextprotocol/server-filesystem/dist/index.js .\n" +
			"  retinue mcp add weather --env 'KEY={env:WEATHER_KEY}' --host api.weather.example -- /usr/local/bin/weather-mcp\n" +
			"  retinue mcp add issues --url https://mcp.example.com/mcp --header 'Authorization=Bearer {env:TOKEN}'",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := m.entry(cmd, args)
			if err != nil {
				return &exit.Error{Code: exit.Usage, Err: err}
			}
			return m.with(cmd, func(ctx context.Context, manager *toolbox.MCPManager) error {
				return m.addServer(ctx, cmd, manager, args[0], entry)
			})
		},
	}
	m.addScope(cmd)
	flags := cmd.Flags()
	flags.StringVar(&m.url, "url", "", "the address of a server that is reached over streamable HTTP")
	flags.StringVar(&m.cwd, "cwd", "", "the folder that the program starts in (default: the workspace)")
	flags.StringArrayVar(&m.env, "env", nil, "a variable for the program: NAME=VALUE, or NAME={env:OTHER}")
	flags.StringArrayVar(&m.headers, "header", nil, "a header for requests: NAME=VALUE")
	flags.StringArrayVar(&m.hosts, "host", nil, "a host that the program may reach: api.example.com, *.example.com, example.com:8443")
	return cmd
}

// entry is the server that the command line describes.
func (m *mcpFlags) entry(cmd *cobra.Command, args []string) (config.ServerEntry, error) {
	e := config.ServerEntry{URL: m.url, Cwd: m.cwd, Hosts: m.hosts}
	command := args[1:]
	switch {
	case m.url == "" && len(command) == 0:
		return e, errors.New("write the server's command after --, or its address as --url")
	case m.url != "" && len(command) > 0:
		return e, errors.New("a server has a command or a --url, not both")
	case len(command) > 0 && cmd.ArgsLenAtDash() != 1:
		return e, fmt.Errorf("write -- before the server's command: retinue mcp add %s -- %s", args[0], strings.Join(command, " "))
	case m.url != "":
		e.Type = "http"
	default:
		e.Command, e.Args = command[0], command[1:]
	}
	var err error
	if e.Env, err = pairs("--env", m.env); err == nil {
		e.Headers, err = pairs("--header", m.headers)
	}
	return e, err
}

func pairs(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, entry := range list {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%s: write NAME=VALUE", flag) // it may hold a secret, so it is not repeated
		}
		out[name] = value
	}
	return out, nil
}

func (m *mcpFlags) addServer(
	ctx context.Context, cmd *cobra.Command, manager *toolbox.MCPManager, name string, entry config.ServerEntry,
) error {
	scope, err := m.scopeOf()
	if err != nil {
		return &exit.Error{Code: exit.Usage, Err: err}
	}
	file, err := manager.Add(scope, name, entry)
	if err != nil {
		return err
	}
	out := output.New(cmd.OutOrStdout())
	out.Line("added %s to %s", name, file)
	found, err := manager.Look(ctx, name)
	if err != nil {
		for _, w := range manager.Servers().Warnings {
			err = errors.Join(err, w)
		}
		return fmt.Errorf("%w\nIt is added, and its tools are not approved: when that is put right, run 'retinue mcp approve %s'", err, name)
	}
	return approve(out, manager, found)
}

func (m *mcpFlags) approving() *cobra.Command {
	return &cobra.Command{
		Use: "approve NAME", Short: "Approve a server's tools as they are now, and show what changed", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, manager *toolbox.MCPManager) error {
				found, err := manager.Look(ctx, args[0])
				if err != nil {
					return err
				}
				return approve(output.New(cmd.OutOrStdout()), manager, found)
			})
		},
	}
}

func (m *mcpFlags) testing() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Start or ask a server, and show its tools and how they stand", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, manager *toolbox.MCPManager) error {
				found, err := manager.Look(ctx, args[0])
				if err != nil {
					return err
				}
				if m.asJSON {
					return output.JSON(cmd.OutOrStdout(), listed(found))
				}
				out := output.New(cmd.OutOrStdout())
				showServer(out, found)
				showTools(out, found.Report.Tools)
				out.Line("%s", next(found))
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "write JSON")
	return cmd
}

func (m *mcpFlags) listing() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the servers, and what has changed since it was approved", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, manager *toolbox.MCPManager) error {
				settings.Warn(cmd, manager.Servers().Warnings)
				return m.list(cmd, manager.List(ctx))
			})
		},
	}
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "write JSON")
	return cmd
}

func (m *mcpFlags) list(cmd *cobra.Command, servers []toolbox.ListedServer) error {
	if m.asJSON {
		all := []serverLine{}
		for _, s := range servers {
			all = append(all, listed(s))
		}
		return output.JSON(cmd.OutOrStdout(), all)
	}
	out := output.New(cmd.OutOrStdout())
	if len(servers) == 0 {
		out.Line("No MCP servers configured. Add one: retinue mcp add NAME -- COMMAND")
		return nil
	}
	for i, s := range servers {
		if i > 0 {
			out.Line("")
		}
		showServer(out, s)
		if s.Err != nil || s.Config.Disabled {
			continue
		}
		showChanges(out, s.Report.Tools)
		usable := 0
		for _, t := range s.Report.Tools {
			if t.State == toolbox.ToolApproved {
				usable++
			}
		}
		out.Line("  %d of %d tools can be used", usable, len(s.Report.Tools))
		out.Line("%s", next(s))
	}
	return nil
}

func (m *mcpFlags) removing() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Remove a server and what was approved of it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(_ context.Context, manager *toolbox.MCPManager) error {
				scope, err := m.scopeOf()
				if err != nil {
					return &exit.Error{Code: exit.Usage, Err: err}
				}
				file, err := manager.Remove(scope, args[0])
				if err != nil {
					return err
				}
				output.New(cmd.OutOrStdout()).Line("removed %s from %s", args[0], file)
				return nil
			})
		},
	}
	m.addScope(cmd)
	return cmd
}
