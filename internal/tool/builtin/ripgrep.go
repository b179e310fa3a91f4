package builtin

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"github.com/retinue-dev/retinue/internal/tool/builtin/match"
)

// ripgrep looks through many files at once and tells which cannot hold a match. We search again the
// files that it finds, through the workspace's root: its answer decides which files are left out,
// never which lines are shown. It runs no other program (no settings of anybody's are read, nothing
// is unpacked) and gets no environment.
type ripgrep struct {
	// program is its path; empty means that it is not installed.
	program string
	// least is how many files are worth a start, and prefix how much of a match has to be fixed for us
	// to be as fast.
	least, prefix int
}

const (
	// worthwhile is how many files take us as long as a start of ripgrep, and with longPrefix bytes at
	// the beginning of every match we are as fast on any number.
	worthwhile = 200
	longPrefix = 3
	// batchFiles and batchBytes bound the command line of one start.
	batchFiles = 5000
	batchBytes = 512 << 10
	// ripgrepDelay is how long one that was told to stop may hold its output open.
	ripgrepDelay = 50 * time.Millisecond
)

// findRipgrep looks for the program on the path.
func findRipgrep() ripgrep {
	program, err := exec.LookPath("rg")
	if err != nil {
		return ripgrep{}
	}
	return ripgrep{program: program, least: worthwhile, prefix: longPrefix}
}

// cleared are the files below a folder in which a search finds nothing: none if that is unknown.
func (t grep) cleared(ctx context.Context, s *search, base string, fits func(string) bool) (map[string]bool, error) {
	if t.w.ripgrep.program == "" || len(s.prefix) >= t.w.ripgrep.prefix || s.re.MatchString("") {
		return nil, nil
	}
	pattern, ok := match.Widen(s.re.String())
	if !ok {
		return nil, nil
	}
	var names []string
	k := walker{w: t.w, visit: func(_ *os.Root, name string, e fs.DirEntry) error {
		if e.Type().IsRegular() && fits(name) {
			names = append(names, name)
		}
		return nil
	}}
	if err := k.walk(ctx, base); err != nil || len(names) < t.w.ripgrep.least {
		return nil, err
	}
	out := make(map[string]bool, len(names))
	for len(names) > 0 {
		n := batch(names)
		found, ok := t.w.ripgrep.run(ctx, t.w.dirs[len(t.w.dirs)-1], pattern, names[:n])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, name := range names[:n] {
			if ok && !found[name] {
				out[name] = true
			}
		}
		names = names[n:]
	}
	return out, nil
}

// batch is how many of the names fit a command line.
func batch(names []string) int {
	size := 0
	for i, name := range names {
		if size += len(name) + len("./") + 1; i == batchFiles || size > batchBytes {
			return max(i, 1)
		}
	}
	return len(names)
}

// run gives the files that hold a match. It is not ok if one of them could not be read, or anything
// else went wrong: then nothing is known of any.
func (r ripgrep) run(ctx context.Context, dir, pattern string, names []string) (found map[string]bool, ok bool) {
	args := []string{
		"--no-config", "--no-ignore", "--hidden", "--no-follow", "--text", "--encoding=none", "--no-mmap", "--no-messages",
		"--color=never", "--case-sensitive", "--files-with-matches", "--null", "--regexp=" + pattern, "--",
	}
	for _, name := range names {
		args = append(args, "./"+name)
	}
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, []string{}, ripgrepDelay
	out, err := cmd.Output()
	const nothing = 1 // its code when no file matches
	if exit, ended := errors.AsType[*exec.ExitError](err); err != nil && (!ended || exit.ExitCode() != nothing) {
		return nil, false
	}
	found = map[string]bool{}
	for path := range bytes.SplitSeq(out, []byte{0}) {
		found[string(bytes.TrimPrefix(path, []byte("./")))] = true
	}
	return found, true
}
