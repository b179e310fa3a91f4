//go:build services && linux

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/sandbox/links"
)

// linkAttacks are ways to write a file outside by a name that it has in the workspace W. F is that
// name, deep in a folder as pnpm makes them, OUT a file outside that can be seen, and OWN the cache
// of the workspace.
var linkAttacks = []string{
	`echo bad >> $F`,
	`: > $F`,
	`chmod 600 $F; echo bad > $F`,
	`chmod 777 $F`,
	`touch -d 2001-01-01 $F`,
	`truncate -s 1 $F`,
	`printf bad | dd of=$F conv=notrunc`,
	`exec 3<>$F; echo bad >&3`,
	`exec 3<$F; echo bad > /proc/self/fd/3`,
	`cd $(dirname $F); exec 3<.; cd /; echo bad > /proc/self/fd/3/index.js`,
	`ln -s $F $W/s; echo bad >> $W/s`,
	`ln $F $W/own.js; echo bad >> $W/own.js`,
	`cd $W/node_modules/.pnpm; ln pkg/node_modules/pkg/index.js i.js; echo bad >> i.js`,
	`ln $F $OWN/own.js; echo bad >> $OWN/own.js`,
	`mv $F $W/own.js; echo bad >> $W/own.js`,
	`mv $W/node_modules $W/nm; echo bad >> $W/nm/.pnpm/pkg/node_modules/pkg/index.js`,
	`mv $W/node_modules/.pnpm/pkg $W/p; echo bad >> $W/p/node_modules/pkg/index.js`,
	`mkdir $W/d; mv $W/node_modules/.pnpm $W/d; echo bad >> $W/d/.pnpm/pkg/node_modules/pkg/index.js`,
	`rm $W/twin.js; echo bad >> $F`,
	`echo bad >> $W/twin.js`,
	`echo bad >> $W/top.txt`,
	`chmod 700 $W/closed; echo bad >> $W/closed/f.txt`,
	`chmod 600 $W/.git/objects/ab/cd; echo bad > $W/.git/objects/ab/cd`,
	`ln $OUT $W/o; echo bad >> $W/o`,
	`ln $OUT $OWN/o; echo bad >> $OWN/o`,
	`ln -f $OUT $W/top.txt; echo bad >> $W/top.txt`,
	`cp -al $(dirname $F) $W/copy; echo bad >> $W/copy/index.js`,
}

// TestNoLinkLeadsOut has programs in the sandbox write files of the workspace that have another
// name outside, as those of pnpm's node_modules have in its store. Without the sandbox, each of
// them changes the file outside.
func TestNoLinkLeadsOut(t *testing.T) {
	wall := measure.NewWall(t, "1.13")
	for _, line := range linkAttacks {
		if changed, said := attackLink(t, TierNone, line); changed == "" {
			t.Errorf("without a sandbox nothing is changed by %s, so this shows nothing:\n%s", line, said)
		}
		changed, said := attackLink(t, TierBubblewrap, line)
		wall.Try(changed != "", "%s outside was changed by %s:\n%s", changed, line, said)
	}
}

// attackLink tries one of them, and names the files that it changed outside.
func attackLink(t *testing.T, tier Tier, line string) (changed, said string) {
	t.Helper()
	base := tempDir(t)
	store, work, own, seen := filepath.Join(base, "store"), filepath.Join(base, "work"), filepath.Join(base, "own"), filepath.Join(base, "seen")
	inner := filepath.Join(work, "node_modules/.pnpm/pkg/node_modules/pkg")
	for _, dir := range []string{store, inner, own, seen, filepath.Join(work, "closed"), filepath.Join(work, ".git/objects/ab")} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	files := map[string]string{
		"index": filepath.Join(inner, "index.js"), "top": filepath.Join(work, "top.txt"), "closed": filepath.Join(work, "closed/f.txt"),
		"object": filepath.Join(work, ".git/objects/ab/cd"),
	}
	before := map[string]os.FileInfo{}
	for name, inside := range files {
		outside := filepath.Join(store, name)
		must(t, os.WriteFile(outside, []byte("good\n"), 0o600))
		must(t, os.Link(outside, inside))
	}
	must(t, os.Link(files["index"], filepath.Join(work, "twin.js")))
	must(t, os.WriteFile(filepath.Join(seen, "out"), []byte("good\n"), 0o600))
	must(t, os.Chmod(filepath.Join(work, "closed"), 0))
	defer func() { _ = os.Chmod(filepath.Join(work, "closed"), 0o700) }()
	outside := []string{filepath.Join(seen, "out")}
	for name := range files {
		outside = append(outside, filepath.Join(store, name))
	}
	for _, file := range outside {
		info, err := os.Stat(file)
		must(t, err)
		before[file] = info
	}
	b, err := Open(t.Context(), Options{Tier: tier, ReadOnly: []string{seen}})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	cache := own
	if tier == TierBubblewrap {
		own = "/tmp/home/.cache"
	}
	o, err := b.Run(t.Context(), Command{Argv: shell(line), Workspace: work, Cache: cache, Env: []string{
		"W=" + work, "F=" + files["index"], "OUT=" + outside[0], "OWN=" + own,
	}})
	must(t, err)
	for _, file := range outside {
		info, err := os.Stat(file)
		must(t, err)
		text, err := os.ReadFile(file)
		if err != nil || string(text) != "good\n" || info.Mode() != before[file].Mode() || !info.ModTime().Equal(before[file].ModTime()) {
			return filepath.Base(file), o.Stdout.String() + o.Stderr.String()
		}
	}
	return "", o.Stdout.String() + o.Stderr.String()
}

// TestAProgramWorksBesideLinks has a workspace like one of pnpm's, with 20,000 links to a store:
// programs read them and write everything else, and the result names the folder that cannot be
// written.
func TestAProgramWorksBesideLinks(t *testing.T) {
	b, err := Open(t.Context(), Options{Tier: TierBubblewrap, Protected: []string{"node_modules/.pnpm/p7@1/node_modules/p7/settings"}})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	base := tempDir(t)
	work := filepath.Join(base, "work")
	const packages, each = 400, 50
	for p := range packages {
		dir := filepath.Join(work, fmt.Sprintf("node_modules/.pnpm/p%d@1/node_modules/p%d/lib", p, p))
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.MkdirAll(filepath.Join(base, fmt.Sprintf("store/%d", p)), 0o700))
		for f := range each {
			outside := filepath.Join(base, fmt.Sprintf("store/%d/%d", p, f))
			must(t, os.WriteFile(outside, []byte("good\n"), 0o600))
			must(t, os.Link(outside, filepath.Join(dir, fmt.Sprintf("%d.js", f))))
		}
	}
	must(t, os.MkdirAll(filepath.Join(work, "src"), 0o700))
	must(t, os.WriteFile(filepath.Join(work, "src/a"), []byte("1\n"), 0o600))
	must(t, os.Link(filepath.Join(work, "src/a"), filepath.Join(work, "src/b"))) // both names are inside
	var plain []time.Duration
	for range 5 {
		plain = append(plain, timeRun(t, b, tempDir(t), `true`))
	}
	var beside []time.Duration
	for range 5 {
		beside = append(beside, timeRun(t, b, work, `cat node_modules/.pnpm/p7@1/node_modules/p7/lib/3.js && mkdir -p node_modules/.cache && echo x > node_modules/.cache/x &&
			echo 2 >> src/a && echo y > new && mkdir -p d && mv src d/ && mv d/src .`))
	}
	slices.Sort(plain)
	slices.Sort(beside)
	measure.Figure(t, "a run beside %d links to files outside: %s, in an empty workspace %s", packages*each,
		beside[2].Round(time.Millisecond), plain[2].Round(time.Millisecond))
	o, err := b.Run(t.Context(), Command{Argv: shell(`echo bad >> node_modules/.pnpm/p7@1/node_modules/p7/lib/3.js`), Workspace: work})
	if diff := cmp.Diff([]string{"node_modules/.pnpm"}, o.Linked); diff != "" || err != nil || o.Code == 0 {
		t.Errorf("code %d, %v: %s", o.Code, err, diff)
	}
	must(t, os.RemoveAll(filepath.Join(base, "store")))
	if o, err = b.Run(t.Context(), Command{Argv: shell(`echo fine >> node_modules/.pnpm/p7@1/node_modules/p7/lib/3.js`), Workspace: work}); err != nil || o.Code != 0 || o.Linked != nil {
		t.Errorf("without names outside: code %d, %v, %v", o.Code, o.Linked, err)
	}
	for i := range links.MostMounts + 1 {
		outside := filepath.Join(base, fmt.Sprintf("o%d", i))
		must(t, os.WriteFile(outside, nil, 0o600))
		must(t, os.Link(outside, filepath.Join(work, fmt.Sprintf("o%d", i))))
	}
	if _, err = b.Run(t.Context(), Command{Argv: shell(`true`), Workspace: work}); err == nil {
		t.Error("a program runs beside more links than can be kept from it")
	}
}

// timeRun runs a script that must succeed.
func timeRun(t *testing.T, b *Box, work, script string) time.Duration {
	t.Helper()
	began := time.Now()
	o, err := b.Run(t.Context(), Command{Argv: shell("cd " + work + " && " + script), Workspace: work})
	if err != nil || o.Code != 0 {
		t.Fatalf("%s: code %d, %v: %s%s", script, o.Code, err, o.Stdout, o.Stderr)
	}
	return time.Since(began)
}
