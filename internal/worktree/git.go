package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The settings of a store. Git reads these and no others: neither a person's, nor the machine's,
// nor those that lie in a workspace, which may name programs to run.
const storeConfig = `[core]
	repositoryformatversion = 0
	bare = true
	filemode = true
	symlinks = true
	ignorecase = false
	autocrlf = false
	fsmonitor = false
	untrackedCache = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
	protectHFS = true
	protectNTFS = true
	compression = 1
[gc]
	auto = 0
[maintenance]
	auto = false
[diff]
	renames = false
	noprefix = false
	algorithm = histogram
[merge]
	renames = false
	directoryRenames = false
	conflictStyle = diff3
[submodule]
	recurse = false
`

// storeAttributes override the attributes of a workspace: contents are taken byte by byte, and
// merged line by line.
const storeAttributes = "* -text -ident -filter -working-tree-encoding !eol !merge !diff !conflict-marker-size\n"

// allBinary is for patches that are no text: every file in them is written as binary.
const allBinary = "* -diff\n"

// gitWait is how long git may keep writing after it was told to stop.
const gitWait = 2 * time.Second

// invocation is one run of git.
type invocation struct {
	args []string
	// index is the file of the index, work the folder with the files; both may be empty.
	index, work string
	in          []byte
	// most bounds the output; zero means outputBytes.
	most int
}

// outputBytes is the most that git may say.
const outputBytes = 64 << 20

// errTooMuch means that git said more than was asked for.
var errTooMuch = errors.New("git said more than can be kept")

// exitError is a run of git that ended with a code.
type exitError struct {
	args []string
	code int
	said string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("git %s ended with %d: %s", e.args[0], e.code, strings.TrimSpace(e.said))
}

// run runs git on the store. Its environment is made anew: nothing of ours leads it elsewhere.
func (s *Store) run(ctx context.Context, i invocation) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.git, append([]string{"--no-pager", "--literal-pathspecs"}, i.args...)...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "XDG_CONFIG_HOME=" + s.dir, "LC_ALL=C", "TZ=UTC",
		"GIT_DIR=" + s.repo(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_AUTHOR_NAME=retinue", "GIT_AUTHOR_EMAIL=retinue@localhost", "GIT_AUTHOR_DATE=2000-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=retinue", "GIT_COMMITTER_EMAIL=retinue@localhost", "GIT_COMMITTER_DATE=2000-01-01T00:00:00Z",
	}
	if i.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+i.index)
	}
	if i.work != "" {
		cmd.Dir = i.work
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+i.work)
	}
	cmd.Stdin = bytes.NewReader(i.in)
	cmd.WaitDelay = gitWait
	out, said := &bounded{most: max(i.most, 0)}, &bounded{most: 4 << 10}
	if i.most == 0 {
		out.most = outputBytes
	}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.over:
		return nil, fmt.Errorf("git %s: %w", i.args[0], errTooMuch)
	case errors.As(err, &exit):
		return out.Bytes(), &exitError{args: i.args, code: exit.ExitCode(), said: said.String()}
	case err != nil:
		return nil, fmt.Errorf("run git: %w", err)
	}
	return out.Bytes(), nil
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.Len()
	if len(p) > room {
		b.over = true
		_, _ = b.Buffer.Write(p[:room]) // a buffer takes everything
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// line runs git and returns the one line that it says.
func (s *Store) line(ctx context.Context, i invocation) (string, error) {
	out, err := s.run(ctx, i)
	return strings.TrimSpace(string(out)), err
}

// scratch makes a folder for the files of one operation.
func (s *Store) scratch() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(s.dir, "scratch-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder beside the trees: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // the rest is of no use
}

func (s *Store) repo() string { return filepath.Join(s.dir, "store.git") }

// split takes apart what git separates by NUL.
func split(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
