package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/mcptask"
	"github.com/retinue-dev/retinue/internal/local"
)

const serveLong = `Run as an MCP server over stdio, so that another program's model can start tasks,
follow them, answer questions and cancel.

Calls that need an approval wait for a person: 'retinue inbox' lists and decides them. A model cannot
decide them here, nor reach conversations that were not begun here.`

// mcpServeCommand is Retinue as an MCP server.
func mcpServeCommand(start local.EngineStarter) *cobra.Command {
	flags := &siteFlags{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Run as an MCP server: other programs' models start and follow tasks", Long: serveLong,
		Example: "  {\"mcpServers\": {\"retinue\": {\"command\": \"retinue\", \"args\": [\"mcp\", \"serve\"]}}}",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return serveMCP(cmd, flags, start) },
	}
	flags.Add(cmd)
	flags.addDemo(cmd)
	flags.addVerbose(cmd)
	cmd.Flags().StringArrayVar(&flags.workspaces, "workspace", nil,
		"a folder that tasks may work in, DIR or NAME=DIR (default: nearest folder with .retinue or .git)")
	return cmd
}

// quietly is a stream that is not ours to close.
type quietly struct{ io.Writer }

// Close implements io.Closer.
func (quietly) Close() error { return nil }

func serveMCP(cmd *cobra.Command, flags *siteFlags, start local.EngineStarter) (err error) {
	if flags.demo {
		fmt.Fprintln(cmd.ErrOrStderr(), local.DemoLabel)
	}
	s, err := flags.open(cmd.Context(), cmd, want{start: start, quiet: silent, client: true, by: userName() + mcptask.By})
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(cmd.Context())
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	named, err := folders(flags.workspaces)
	if err != nil {
		return err
	}
	d := &mcptask.Backend{Server: s.server, Workspaces: slices.Sorted(shown(named)), Version: version()}
	if !slices.Contains(d.Workspaces, s.workspace) {
		d.Workspaces = append(d.Workspaces, s.workspace)
	}
	err = d.Tools().Run(cmd.Context(), &mcp.IOTransport{
		Reader: io.NopCloser(cmd.InOrStdin()), Writer: quietly{cmd.OutOrStdout()},
	})
	if cmd.Context().Err() != nil || errors.Is(err, io.EOF) {
		return nil // the program that started us has ended
	}
	return err
}
