package command

import (
	"path"
	"slices"
	"strings"
)

// mostInside is how many texts are parsed for one command. A longer one is hidden: its content is
// not searched.
const mostInside = 64

// deepest is how many programs that run others may stand inside each other.
const deepest = 3

// inside are the texts that the command amounts to for a rule that forbids something: without its
// assignments, without the options before the program's own command, and, for one that runs
// another, that other one. False means that there are too many.
func (c Command) inside(depth int) ([]string, bool) {
	if len(c.words) == 0 {
		return nil, true
	}
	var texts []string
	bare := slices.Clone(c.words)
	if c.Program != "" {
		bare[0] = c.Program
	}
	if c.assigned || c.path {
		texts = append(texts, strings.Join(bare, " "))
	}
	for i := 2; i < len(bare) && before(bare[1:i]); i++ {
		if !strings.HasPrefix(bare[i], "-") {
			texts = append(texts, bare[0]+" "+strings.Join(bare[i:], " "))
		}
	}
	if c.launches() {
		if len(bare) > mostInside || depth > deepest {
			return texts, false
		}
		for i := 1; i < len(bare); i++ {
			rest := Command{Program: path.Base(bare[i]), words: bare[i:], path: strings.Contains(bare[i], "/")}
			of, seen := rest.inside(depth + 1)
			line, read := lineInside(bare[i], depth)
			if texts = slices.Concat(texts, []string{strings.Join(bare[i:], " ")}, of, line); !seen || !read {
				return texts, false
			}
		}
	}
	slices.Sort(texts)
	texts = slices.DeleteFunc(slices.Compact(texts), func(t string) bool { return t == c.Text })
	return texts[:min(len(texts), mostInside)], len(texts) <= mostInside
}

// lineInside are the commands of a word that is a line itself, as the argument of sh -c is.
func lineInside(word string, depth int) ([]string, bool) {
	if !strings.ContainsAny(word, " \t\n;|&") {
		return nil, true
	}
	if depth > deepest {
		return nil, false
	}
	var texts []string
	for _, c := range Parse(word).Commands {
		inner, ok := c.inside(depth + 1)
		if texts = append(append(texts, c.Text), inner...); !ok || len(texts) > mostInside {
			return texts, false
		}
	}
	return texts, true
}

// before reports whether words may all stand before a program's own command: options, and the
// values of options.
func before(words []string) bool {
	for i, w := range words {
		if !strings.HasPrefix(w, "-") && (i == 0 || !strings.HasPrefix(words[i-1], "-")) {
			return false
		}
	}
	return true
}
