package local

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/listener"
)

// findPatience is how long a server on this machine may take to answer.
const findPatience = 2 * time.Second

// SocketPath is where the server that runs on a data folder listens for the same user.
func SocketPath(s config.Settings) string { return filepath.Join(s.DataDir, listener.SocketName) }

// FindServer returns a client of the server that runs on a data folder, nil if none answers. With a
// workspace it is nil too unless some process is known to run agents in that one.
func FindServer(ctx context.Context, s config.Settings, workspace string) *client.Client {
	path := SocketPath(s)
	if len(path) > listener.LongestSocket || workspace != "" && !attended(s, workspace) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findPatience)
	defer cancel()
	c := client.OverSocket(path)
	once := *c
	once.Attempts = 1 // a folder without a server is no reason to wait
	if _, err := once.Me(ctx); err != nil {
		return nil
	}
	return c
}

// attended reports whether another process works in a workspace, as far as is known here.
func attended(s config.Settings, workspace string) bool {
	if s.Engine.Temporal != "" {
		return !s.Journal.DSN.IsZero()
	}
	owner, err := readOwner(s.DataDir)
	return err == nil && slices.Contains(owner.Workspaces, workspace)
}
