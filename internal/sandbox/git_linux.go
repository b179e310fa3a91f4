package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// gitTime is how long git may take to list its settings: a moment, or seconds on a busy
	// machine.
	gitTime = 10 * time.Second
	// nestedTime is the same for a repository below, which the program before may have made to keep git
	// waiting.
	nestedTime = 3 * time.Second
	// gitBytes bounds what it may say of settings.
	gitBytes = mebibyte
	// mostIncludes bounds how many files of settings are read besides those that are in force.
	mostIncludes = 32
	// mostRepositories bounds how many repositories in a workspace are guarded, mostFolders in how many
	// folders they are looked for, and deepestFolder how deep.
	mostRepositories = 32
	mostFolders      = 2000
	deepestFolder    = 5
)

// gitSights is what git reads and runs in a workspace, asked of git itself before a program starts.
type gitSights struct {
	work    string
	git     string // the program; empty where there is none
	home    string
	guarded []guarded
	seen    map[string]bool // files of settings that were read

	base, dir string // the folder of the repository that the workspace belongs to, and its .git
	links     []string
	index     syscall.Stat_t
}

// lookAtGit resolves git's settings for a workspace and the files in it that they name. Without git
// only the fixed paths are guarded.
func lookAtGit(work string) (*gitSights, error) {
	g := &gitSights{work: work, seen: map[string]bool{}}
	program, err := exec.LookPath("git")
	if _, inside := within(work, program); err != nil || inside {
		return g, nil //nolint:nilerr // git is not run here, or is no safer than the files that it would guard
	}
	g.git = program
	g.home, _ = os.UserHomeDir() // without one, nothing is found there
	nested := g.nested()
	for dir := work; ; dir = filepath.Dir(dir) {
		found, err := g.resolve(dir)
		if err != nil {
			return nil, err
		}
		if found {
			g.base, g.dir = dir, filepath.Join(dir, ".git")
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if g.base != "" {
		_ = syscall.Stat(filepath.Join(g.dir, "index"), &g.index) // missing is a state too
		g.links = g.gitlinks()
		for _, sub := range g.links {
			if _, err := os.Lstat(filepath.Join(work, sub, ".git")); err == nil && !slices.Contains(nested, sub) {
				nested = append(nested, sub)
			} else if err != nil {
				g.guarded = append(g.guarded, guarded{path: sub + "/.git", watched: true, linked: true})
			}
		}
	}
	for _, sub := range nested {
		g.guardNested(sub)
	}
	return g, nil
}

// run asks git something about the repository of a folder. Nothing of our environment but the
// person's own settings counts; the repository is named, so that it may belong to somebody else;
// and settings that could run a program are switched off.
func (g *gitSights) run(base string, use func(io.Reader) error, args ...string) error {
	patience := gitTime
	if _, below := within(g.work, base); below {
		patience = nestedTime
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.git, append([]string{"--no-pager", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{
		"PATH=" + usualPath, "HOME=" + g.home, "LC_ALL=C", "GIT_DIR=" + filepath.Join(base, ".git"), "GIT_WORK_TREE=" + base,
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0",
	}
	if folder, ok := os.LookupEnv("XDG_CONFIG_HOME"); ok {
		cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+folder)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("make a pipe for git: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	err = use(out)
	if err != nil {
		cancel()
	}
	err = errors.Join(err, cmd.Wait())
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf(
			"git did not say within %s which of its settings hold in %s, so nothing was run: try again, or look at what "+
				"git config --list --show-origin waits for there", patience, base)}
	}
	return err
}

// setting is one value of git's settings.
type setting struct {
	origin string // the file that it stands in
	key    string // in lower case but for its middle
	value  string
}

// settings are those in force in the repository of a folder, or with a file those of that alone.
func (g *gitSights) settings(base, file string) ([]setting, error) {
	args := []string{"config", "--list", "--show-origin", "--includes", "-z"}
	if file != "" {
		args = append(args, "--file", file)
	}
	var said bytes.Buffer
	err := g.run(base, func(from io.Reader) error {
		n, err := io.Copy(&said, io.LimitReader(from, gitBytes+1))
		if err == nil && n > gitBytes {
			err = &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf(
				"git has more than %d MB of settings in %s, so nothing was run: make them shorter", gitBytes/mebibyte, base)}
		}
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	var list []setting
	fields := strings.Split(strings.TrimSuffix(said.String(), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		origin, isFile := strings.CutPrefix(fields[i], "file:")
		if !isFile {
			origin = ""
		}
		key, value, _ := strings.Cut(fields[i+1], "\n")
		list = append(list, setting{origin: origin, key: key, value: value})
	}
	return list, nil
}

// resolve guards the files that the settings of one repository name. It reports whether it found a
// repository.
func (g *gitSights) resolve(base string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(base, ".git")); err != nil {
		return false, nil //nolint:nilerr // no repository
	}
	list, err := g.settings(base, "")
	if chat.CodeOf(err) == chat.CodeUnavailable {
		return false, err
	}
	if err != nil {
		return false, nil //nolint:nilerr // no repository to git either, or one in which it does nothing
	}
	g.guardLinks(filepath.Join(base, ".git", "hooks"))
	g.guardLinks(filepath.Join(base, ".husky"))
	g.guardSettings(base, list)
	return true, nil
}

// nested are the folders in the workspace, other than itself, that have a .git.
func (g *gitSights) nested() []string {
	var found []string
	folders := 0
	for level, depth := []string{""}, 0; len(level) > 0 && depth <= deepestFolder; depth++ {
		var next []string
		for _, at := range level {
			if folders++; folders > mostFolders {
				return found
			}
			entries, err := os.ReadDir(filepath.Join(g.work, at))
			if err != nil {
				continue // git cannot read it either
			}
			for _, e := range entries {
				switch {
				case e.Name() == ".git" && at != "":
					if found = append(found, at); len(found) == mostRepositories {
						return found
					}
				case e.IsDir() && e.Name() != ".git" && e.Name() != "node_modules":
					next = append(next, filepath.Join(at, e.Name()))
				}
			}
		}
		level = next
	}
	return found
}

// guardNested guards a repository in a folder of the workspace like the one at its top. One that
// git cannot read, or not in time, is guarded as a whole.
func (g *gitSights) guardNested(sub string) {
	base := filepath.Join(g.work, sub)
	at := filepath.Join(base, ".git")
	info, err := os.Lstat(at)
	if err != nil {
		return // gone meanwhile
	}
	found := false
	if !info.IsDir() || regular(filepath.Join(at, "HEAD")) && regular(filepath.Join(at, "config")) {
		found, _ = g.resolve(base)
	}
	if info.IsDir() && found {
		g.guardFolder(sub + "/.git")
		return
	}
	g.guard(guarded{path: sub + "/.git", watched: true, linked: true})
	if !info.Mode().IsRegular() {
		return
	}
	content, err := os.ReadFile(at)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir: ")
	if err != nil || !ok {
		return // leads nowhere
	}
	if dir, inside := within(g.work, g.expand(base, dir)); inside && regular(filepath.Join(g.work, dir, "config")) {
		g.guardFolder(dir)
	}
}

func (g *gitSights) guardFolder(dir string) {
	for _, file := range gitFiles(dir) {
		file.linked = true
		g.guarded = append(g.guarded, file)
	}
}

func regular(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// gitlinks are the folders in the workspace that the repository holds for others: when somebody
// asks for its state, git looks into each of them that has a .git, and obeys the settings there.
func (g *gitSights) gitlinks() []string {
	var found []string
	err := g.run(g.base, func(from io.Reader) error {
		lines := bufio.NewReader(from)
		for {
			line, err := lines.ReadString(0)
			if err != nil {
				return nil //nolint:nilerr // the end
			}
			about, name, _ := strings.Cut(strings.TrimSuffix(line, "\x00"), "\t")
			sub, inside := within(g.work, filepath.Join(g.base, name))
			if strings.HasPrefix(about, "160000 ") && inside {
				found = append(found, sub)
			}
		}
	}, "ls-files", "--stage", "--sparse", "-z")
	if err != nil {
		return nil // no index, or none that git can read
	}
	return found
}

// newLinks are the gitlinks that came while the program ran.
func (g *gitSights) newLinks() []string {
	var now syscall.Stat_t
	if g.base == "" {
		return nil
	}
	_ = syscall.Stat(filepath.Join(g.dir, "index"), &now) // missing is a state too
	if now.Ino == g.index.Ino && now.Ctim == g.index.Ctim && now.Size == g.index.Size {
		return nil
	}
	return slices.DeleteFunc(g.gitlinks(), func(sub string) bool {
		return slices.Contains(g.links, sub) || slices.ContainsFunc(g.guarded, func(o guarded) bool {
			return o.path == sub+"/.git" || strings.HasPrefix(o.path, sub+"/.git/")
		})
	})
}
