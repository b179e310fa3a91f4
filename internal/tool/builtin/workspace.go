// Package builtin holds the tools that come with the program and only read: read_file, list_dir,
// glob, grep and think. Beside each X.go lies X.md, which is what the model is told.
//
// It imports chat and tool. Every path goes through an os.Root of the workspace: nothing outside it
// is opened, whatever a model, a link or a race says. Answers come in one order, and what was left
// out of them is said.
package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/tool"
)

// Workspace is the folder that the tools see.
type Workspace struct {
	root *os.Root
	// dirs are the absolute paths under which a model may know the folder, with slashes.
	dirs []string
}

// Open opens a folder as a workspace.
func Open(dir string) (*Workspace, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	root, err := os.OpenRoot(given)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	dirs := slices.Compact([]string{filepath.ToSlash(given), filepath.ToSlash(resolved)})
	return &Workspace{root: root, dirs: dirs}, nil
}

// Close gives the folder up; calls that still run fail.
func (w *Workspace) Close() error { return w.root.Close() }

// Tools are the tools on this workspace.
func (w *Workspace) Tools() []tool.Tool {
	return []tool.Tool{readFile{w}, listDir{w}, glob{w}, grep{w}, think{}}
}

// The timeouts of the tools.
const (
	readTimeout   = 30 * time.Second
	searchTimeout = 60 * time.Second
	thinkTimeout  = time.Second
)

// textBytes is the most that one answer takes: less than tool.DefaultCap, so that an answer ends
// where it says it does and is not cut in the middle.
const textBytes = 28 << 10
