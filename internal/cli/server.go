package cli

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/local"
)

// serverFlags name a server to go to instead of the one of this machine.
type serverFlags struct{ address, keyFile string }

func (f *serverFlags) addServer(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&f.address, "server", "",
		"go to this server, such as https://retinue.example.org; the key is in "+config.KeyVariable)
	cmd.PersistentFlags().StringVar(&f.keyFile, "key-file", "", "a file with the key for --server, instead of "+config.KeyVariable)
}

// chosen is the server that the flags name, nil if they name none.
func (f *serverFlags) chosen() (*remote.Server, error) {
	if f.address == "" {
		if f.keyFile != "" {
			return nil, exit.Misused("--key-file is for a server: name it with --server")
		}
		return nil, nil //nolint:nilnil // no server is a choice, not a fault
	}
	key := os.Getenv(config.KeyVariable)
	if f.keyFile != "" {
		text, err := os.ReadFile(f.keyFile)
		if err != nil {
			return nil, exit.Misused("--key-file: %w", err)
		}
		key = string(text)
	}
	if key = strings.TrimSpace(key); key == "" {
		return nil, exit.Misused("--server needs a key: put it into %s, or into a file that --key-file names", config.KeyVariable)
	}
	u, err := url.Parse(f.address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, exit.Misused("--server: %q is no address such as https://retinue.example.org", f.address)
	}
	if u.Scheme == "http" && !loops(u.Hostname()) {
		return nil, exit.Misused("--server: %s would send the key where others can read it: use https", f.address)
	}
	return &remote.Server{Client: &client.Client{BaseURL: f.address, Key: key}, Address: f.address}, nil
}

// loops reports whether a host is this machine.
func loops(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// elsewhere is the server that a command goes to: the one that is named, or the one that runs on
// the data folder and serves the workspace. It is nil if the command has to run one itself.
func (f *siteFlags) elsewhere(ctx context.Context, s *site, w want) (*remote.Server, error) {
	if named, err := f.chosen(); named != nil || err != nil {
		return named, err
	}
	settings, workspace := s.loaded.Settings, s.workspace
	if f.demo {
		settings = config.Settings{DataDir: local.DemoFolder(settings)}
		if workspace == "" && !w.named {
			workspace = filepath.Join(settings.DataDir, local.DemoWorkspace)
		}
	}
	found := local.FindServer(ctx, settings, workspace)
	if found == nil {
		if f.demo && w.named {
			return nil, errors.New("no demo is up: start 'retinue up --demo'")
		}
		return nil, nil //nolint:nilnil // no server is nothing wrong
	}
	s.workspace = workspace
	return &remote.Server{Client: found, Address: local.SocketPath(settings)}, nil
}
