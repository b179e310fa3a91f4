package builtin

import (
	"os"
	"path"
	"strings"

	"github.com/retinue-dev/retinue/internal/tool/builtin/match"
)

// ignoreFile lists the files that git ignores.
const ignoreFile = ".gitignore"

// ignoreBytes is how much of such a file is read.
const ignoreBytes = 1 << 20

// withFile adds the rules of an ignore file in a folder, if it can be read.
func withFile(rules match.Rules, dir string, root *os.Root, name string) match.Rules {
	f, err := open(root, name)
	if err != nil {
		return rules
	}
	defer func() { _ = f.Close() }() // nothing was written
	data := make([]byte, ignoreBytes)
	n, _ := f.ReadAt(data, 0) // the rules that could be read still count
	return rules.With(dir, string(data[:n]))
}

// rulesAbove reads the ignore files that hold for a folder from above: the repository's own, and
// those of the folders it lies in.
func (w *Workspace) rulesAbove(base string) match.Rules {
	s := withFile(nil, ".", w.root, ".git/info/exclude")
	if base == "." {
		return s
	}
	dir := "."
	for part := range strings.SplitSeq(base, "/") {
		name := path.Join(dir, ignoreFile)
		if info, err := w.root.Lstat(name); err == nil && info.Mode().IsRegular() {
			s = withFile(s, dir, w.root, name)
		}
		dir = path.Join(dir, part)
	}
	return s
}
