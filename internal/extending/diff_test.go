package extending

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// change is what a diff makes of one file.
type change struct {
	path  string
	hunks []hunk
}

// hunk is a stretch of a file, before and after. Line numbers are not looked at: the text must be
// there once.
type hunk struct{ old, new string }

// readDiff takes a unified diff apart.
func readDiff(text string) []change {
	var all []change
	var at *hunk
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "index "), strings.HasPrefix(line, "new file "):
			at = nil
		case strings.HasPrefix(line, "+++ b/"):
			all = append(all, change{path: strings.TrimSpace(strings.TrimPrefix(line, "+++ b/"))})
		case strings.HasPrefix(line, "@@ "):
			last := &all[len(all)-1]
			last.hunks = append(last.hunks, hunk{})
			at = &last.hunks[len(last.hunks)-1]
		case at == nil:
		case line[0] == ' ':
			at.old, at.new = at.old+line[1:], at.new+line[1:]
		case line[0] == '-':
			at.old += line[1:]
		case line[0] == '+':
			at.new += line[1:]
		}
	}
	return all
}

// apply makes the new content of a file of the tree.
func (c change) apply(root string) (string, error) {
	if len(c.hunks) == 1 && c.hunks[0].old == "" {
		if _, err := os.Stat(filepath.Join(root, c.path)); err == nil {
			return "", fmt.Errorf("%s exists already", c.path)
		}
		return c.hunks[0].new, nil
	}
	data, err := os.ReadFile(filepath.Join(root, c.path))
	if err != nil {
		return "", err
	}
	text := string(data)
	for _, h := range c.hunks {
		if n := strings.Count(text, h.old); n != 1 {
			return "", fmt.Errorf("%s has this text %d times, and should have it once:\n%s", c.path, n, h.old)
		}
		text = strings.Replace(text, h.old, h.new, 1)
	}
	return text, nil
}
