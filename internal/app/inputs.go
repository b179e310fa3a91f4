package app

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/prompt"
)

// managedDir is where the person who runs a machine keeps settings for everybody on it. It is
// fixed, so that nobody escapes them by pointing elsewhere.
const managedDir = "/etc/retinue"

// Inputs finds out where this process's settings come from. The project is the given folder, or the
// nearest one above the working folder that looks like one.
func Inputs(project string, flags []config.Flag) (config.Inputs, error) {
	if project == "" {
		cwd, err := os.Getwd()
		if err != nil {
			return config.Inputs{}, fmt.Errorf("find the working folder: %w", err)
		}
		project = projectAbove(cwd)
	}
	project, err := filepath.Abs(project)
	if err != nil {
		return config.Inputs{}, fmt.Errorf("find the project: %w", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // a service has none, and needs none
	}
	return config.Inputs{
		Managed: managedDir, Home: home, ConfigHome: os.Getenv("XDG_CONFIG_HOME"), DataHome: os.Getenv("XDG_DATA_HOME"),
		Project: project, Environ: os.Environ(), Flags: flags,
	}, nil
}

// projectAbove is the nearest folder with settings or a repository in it, or else the folder.
func projectAbove(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		for _, mark := range []string{".retinue", ".git"} {
			if _, err := os.Stat(filepath.Join(at, mark)); err == nil {
				return at
			}
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// Here is what a prompt says about the place in which this process works.
func Here(project string) prompt.Situation {
	return prompt.Situation{
		Cwd: project, Platform: runtime.GOOS + "/" + runtime.GOARCH, Date: time.Now().Format(time.DateOnly),
	}
}
