package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Fold makes names comparable: maxTurns, max_turns and max-turns are one.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Meant ends a complaint about a name that is not known: with the one that was probably meant, and
// with all that are known. Aliases are guessed at, but not listed.
func Meant(name string, known []string, aliases ...string) string {
	list := "known are " + strings.Join(known, ", ")
	if best := Nearest(name, slices.Concat(known, aliases)); best != "" {
		return fmt.Sprintf("did you mean %q? %s", best, list)
	}
	return list
}

// Nearest finds the name that differs least, if it differs little.
func Nearest(name string, known []string) string {
	best, least := "", (len(name)+2)/3+1
	for _, k := range known {
		if d := distance(Fold(name), Fold(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace to get from a to b. Names longer than
// any of ours are far from all of them.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := slices.Clone(row)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
		}
		row = next
	}
	return row[len(b)]
}
