package archtest

import (
	"errors"
	"strings"
)

// ListedPackages reads the folders named in the block of a document that is fenced as "tree": the
// first word of each line that has one.
func ListedPackages(document string) ([]string, error) {
	_, rest, ok := strings.Cut(document, "\n```tree\n")
	block, _, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		return nil, errors.New("no block fenced as tree")
	}
	var dirs []string
	for line := range strings.Lines(block) {
		if words := strings.Fields(line); len(words) > 0 {
			dirs = append(dirs, words[0])
		}
	}
	return dirs, nil
}
