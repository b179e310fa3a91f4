package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	// canaryBytes is how long a word of a file must be to count although nothing calls it a secret.
	canaryBytes = 20
	// canaryBits is how many bits of entropy each of its letters must have.
	canaryBits = 3.5
	// canaryFile is the largest file to search, and canaryFiles the number of files.
	canaryFile  = 256 << 10
	canaryFiles = 200
)

// examples are the ends of names of files that hold no secrets although they look like those that
// do.
var examples = []string{".example", ".sample", ".template", ".dist"}

// Canaries are the values in files that look like secrets, each with the name of its file. The
// patterns are those of fs.Glob, from the top of the workspace. A file that cannot be read has
// none: no agent can read it either.
func Canaries(workspace fs.FS, patterns []string) (map[string]string, error) {
	out := map[string]string{}
	read := 0
	for _, pattern := range patterns {
		names, err := fs.Glob(workspace, pattern)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", pattern, err)
		}
		for _, name := range names {
			if slices.ContainsFunc(examples, func(end string) bool { return strings.HasSuffix(name, end) }) {
				continue
			}
			info, err := fs.Stat(workspace, name)
			if err != nil || !info.Mode().IsRegular() || info.Size() > canaryFile {
				continue
			}
			if read++; read > canaryFiles {
				return nil, errors.New("more files hold canaries than are looked through: name fewer in canaries.files")
			}
			content, err := fs.ReadFile(workspace, name)
			if err != nil {
				continue
			}
			for _, value := range canariesIn(string(content)) {
				out[value] = name
			}
		}
	}
	return out, nil
}

var (
	// assignment is NAME=value or "name": "value", anywhere in a line.
	assignment = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.-]*)["']?\s*[=:]\s*(?:"([^"]*)"|'([^']*)'|([^\s,;"']+))`)
	// address is a whole one.
	address = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"',]+`)
	// word is what a key, a token or a line of an encoded key is made of.
	word = regexp.MustCompile(`[A-Za-z0-9+/_.~-]+`)
)

// canariesIn are the secret values of one file: values whose name, such as API_KEY, calls them a
// secret, passwords of addresses, and long words of letters and digits that look random. The rest
// of an address is none: agents may fetch pages by it.
func canariesIn(content string) []string {
	found := &Vault{}
	for line := range strings.Lines(content) {
		for _, m := range assignment.FindAllStringSubmatch(line, -1) {
			if value := m[2] + m[3] + m[4]; Named(m[1]) {
				found.add("", value)
			}
		}
		for _, a := range address.FindAllString(line, -1) {
			found.addPassword("", a)
		}
		for _, w := range word.FindAllString(address.ReplaceAllString(line, ""), -1) {
			if w = strings.Trim(w, ".-/"); len(w) >= canaryBytes && random(w) {
				found.add("", w)
			}
		}
	}
	return slices.Sorted(maps.Keys(found.names))
}

// random reports whether a word looks drawn by chance: it has letters and digits, and enough
// different ones.
func random(w string) bool {
	if !strings.ContainsFunc(w, unicode.IsDigit) || !strings.ContainsFunc(w, unicode.IsLetter) {
		return false
	}
	counts := map[rune]float64{}
	for _, r := range w {
		counts[r]++
	}
	bits := 0.0
	for _, n := range counts {
		share := n / float64(len(w))
		bits -= share * math.Log2(share)
	}
	return bits >= canaryBits
}
