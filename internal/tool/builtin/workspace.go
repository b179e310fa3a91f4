// Package builtin holds the tools that come with the program: those that read files (read_file,
// list_dir, glob, grep, read_image), those that write them (write_file, edit_file), and think and
// todo. Beside each X.go lies X.md, the description for the model.
//
// It imports chat and tool. Every path goes through an os.Root of the workspace: nothing outside it
// is opened or written, in spite of any model, link or race. Answers are sorted, and say what they
// leave out.
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
	// writing holds one writer of this process at a time, and lockFile one of this machine.
	writing  chan struct{}
	lockFile string
	ripgrep  ripgrep
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
	return &Workspace{root: root, dirs: dirs, writing: make(chan struct{}, 1), ripgrep: findRipgrep()}, nil
}

// KnownAs is a second absolute path by which a model may call the folder, that of its original.
func (w *Workspace) KnownAs(dir string) {
	if dir, err := filepath.Abs(dir); err == nil {
		w.dirs = append(w.dirs, filepath.ToSlash(dir))
	}
}

// Root is the folder, for code that must look at it as the tools do.
func (w *Workspace) Root() *os.Root { return w.root }

// Close gives the folder up; calls that still run fail.
func (w *Workspace) Close() error { return w.root.Close() }

// Tools are the tools on this workspace.
func (w *Workspace) Tools() []tool.Tool {
	return []tool.Tool{readFile{w}, listDir{w}, glob{w}, grep{w}, think{}, todo{}}
}

// Images are the tools whose results hold pictures. They are apart from Tools: code that offers
// them shows the pictures to the model.
func (w *Workspace) Images() []tool.Tool { return []tool.Tool{readImage{w}} }

// Writing are the tools that change files of this workspace. They are apart from Tools: code that
// offers them asks for approval first.
func (w *Workspace) Writing() []tool.Tool { return []tool.Tool{writeFile{w}, editFile{w}} }

// The timeouts of the tools.
const (
	readTimeout   = 30 * time.Second
	searchTimeout = 60 * time.Second
	writeTimeout  = 30 * time.Second
	thinkTimeout  = time.Second
)

// textBytes is the most that one answer takes.
const textBytes = tool.AnswerBytes
