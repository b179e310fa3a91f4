//go:build services && linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/measure"
)

// poisons are ways to change what a person's own build reads from a cache. HOME is where the
// person's is, THEIRS the cache of another workspace, OWN that of this one, and W the workspace.
var poisons = []string{
	`echo bad > $PERSON/.cache/go-build/object`,
	`HOME=$PERSON; cd ~/.cache/go-build && echo bad > object`,
	`GOCACHE=$PERSON/.cache/go-build; mv -f $W/bad $GOCACHE/object`,
	`ln -s $PERSON/.cache/go-build $W/cache; echo bad > $W/cache/object`,
	`echo bad > $W/linked/object`,
	`mkdir -p $OWN; ln -sfn $PERSON/.cache/go-build $OWN/go-build; echo bad > $OWN/go-build/object`,
	`ln $PERSON/.cache/go-build/object $W/o; echo bad > $W/o`,
	`rm -rf $PERSON/.cache/go-build/object; echo bad > $PERSON/.cache/go-build/object`,
	`echo bad > $THEIRS/object`,
	`cd $OWN; echo bad > ../theirs/object`,
	`ln -sfn $THEIRS $OWN/x; echo bad > $OWN/x/object`,
}

// TestCachesOfOthersStayTheirs has programs in the sandbox try to change an object in the cache of
// the person, or of another workspace, which would make a failing test pass there. Without the
// sandbox, each of them does.
func TestCachesOfOthersStayTheirs(t *testing.T) {
	wall := measure.NewWall(t, "1.13-caches")
	box, bare := openBox(t, TierBubblewrap), openBox(t, TierNone)
	for _, line := range poisons {
		if changed, said := poison(t, bare, line); !changed {
			t.Errorf("without a sandbox nothing is changed by %s, so this shows nothing:\n%s", line, said)
		}
		changed, said := poison(t, box, line)
		wall.Try(changed, "a cache was changed by %s:\n%s", line, said)
	}
}

// poison tries one of them with caches of its own, and reports whether it changed another's cache.
func poison(t *testing.T, b *Box, line string) (bool, string) {
	t.Helper()
	base := tempDir(t)
	work, person, own, theirs := filepath.Join(base, "work"), filepath.Join(base, "person"), filepath.Join(base, "own"), filepath.Join(base, "theirs")
	build := filepath.Join(person, ".cache", "go-build")
	for _, dir := range []string{work, build, own, theirs} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	objects := []string{filepath.Join(build, "object"), filepath.Join(theirs, "object")}
	for _, file := range objects {
		must(t, os.WriteFile(file, []byte("good\n"), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(work, "bad"), []byte("bad\n"), 0o600))
	must(t, os.Symlink(build, filepath.Join(work, "linked")))
	cache := own
	if b.options.Tier == TierBubblewrap {
		line = strings.ReplaceAll(line, "$OWN", "$HOME/.cache")
	}
	o, err := b.Run(t.Context(), Command{
		Argv: shell(line), Workspace: work, Cache: cache, Env: []string{"W=" + work, "PERSON=" + person, "THEIRS=" + theirs, "OWN=" + own},
	})
	must(t, err)
	for _, file := range objects {
		if text, err := os.ReadFile(file); err != nil || string(text) != "good\n" {
			return true, o.Stdout.String() + o.Stderr.String()
		}
	}
	return false, o.Stdout.String() + o.Stderr.String()
}

// TestOnlyItsOwnIsWritable reads the kernel's list of mounts in a sandbox: of all folders on a
// disk, only the workspace and its own cache are writable, so no other cache can be.
func TestOnlyItsOwnIsWritable(t *testing.T) {
	base := tempDir(t)
	work, cache, seen := filepath.Join(base, "work"), filepath.Join(base, "cache"), filepath.Join(base, "seen")
	for _, dir := range []string{work, cache, seen} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	b, err := Open(t.Context(), Options{Tier: TierBubblewrap, ReadOnly: []string{seen}})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	o, err := b.Run(t.Context(), Command{Argv: shell("cat /proc/self/mountinfo"), Workspace: work, Cache: cache})
	must(t, err)
	writable := map[string]bool{}
	for line := range strings.Lines(o.Stdout.String()) {
		fields := strings.Fields(line)
		if len(fields) < 7 || !strings.HasPrefix(fields[5], "rw") || strings.HasPrefix(fields[4], "/dev") || strings.HasPrefix(fields[4], "/proc") {
			continue
		}
		writable[fields[4]] = true
	}
	for _, at := range []string{work, home + "/.cache", "/tmp"} {
		if !writable[at] {
			t.Errorf("%s is not writable: %s", at, o.Stdout)
		}
		delete(writable, at)
	}
	for at := range writable {
		if !strings.HasPrefix(at, work+"/") { // the folders above what is protected
			t.Errorf("%s is writable", at)
		}
	}
}
