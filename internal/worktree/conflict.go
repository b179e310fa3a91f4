package worktree

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Conflict is a file that a patch and a folder have both changed, each in its way.
type Conflict struct {
	Path string       `json:"path"`
	Kind ConflictKind `json:"kind"`
	// Hunks are the places, as far as there is room.
	Hunks []Hunk `json:"hunks,omitempty"`
	// More counts those that were left out.
	More int `json:"more_hunks,omitempty"`
}

// Hunk is one place in three versions.
type Hunk struct {
	Base   string `json:"base"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// ConflictKind says what the two sides did.
type ConflictKind string

// The kinds of conflicts.
const (
	ConflictContent ConflictKind = "content"
	// ConflictAddAdd means that both made the file.
	ConflictAddAdd ConflictKind = "add/add"
	// ConflictModifyDelete means that one side changed it and the other removed it.
	ConflictModifyDelete ConflictKind = "modify/delete"
	ConflictBinary       ConflictKind = "binary"
	// ConflictNoFile means that one side has something there that is no file, or a link.
	ConflictNoFile ConflictKind = "not a file"
)

// The largest part of a conflict that is shown.
const (
	mostHunks = 3
	hunkBytes = 800
)

// stage is one version of a file in conflict: 1 is the copied one, 2 the folder's, 3 the patch's.
type stage struct {
	path   string
	number string
}

// conflicts reads what a merge that did not succeed says: the tree with marks in it, the versions
// of each file, and messages.
func (s *Store) conflicts(ctx context.Context, out []byte) ([]Conflict, error) {
	fields := strings.Split(string(out), "\x00")
	tree, fields := fields[0], fields[1:]
	end := slices.Index(fields, "")
	if end < 0 {
		return nil, fmt.Errorf("git says of a merge %.80q", out)
	}
	var stages []stage
	for _, f := range fields[:end] {
		about, path, _ := strings.Cut(f, "\t")
		parts := strings.Fields(about)
		if len(parts) != 3 {
			return nil, fmt.Errorf("git says of a conflict %.80q", f)
		}
		stages = append(stages, stage{path: path, number: parts[2]})
	}
	binary := binaries(fields[end+1:])
	var list []Conflict
	for _, st := range stages {
		if slices.ContainsFunc(list, func(c Conflict) bool { return c.Path == st.path }) {
			continue
		}
		has := func(number string) bool { return slices.Contains(stages, stage{path: st.path, number: number}) }
		c := Conflict{Path: st.path, Kind: ConflictContent}
		switch {
		case !has("2") || !has("3"):
			c.Kind = ConflictModifyDelete
		case binary[st.path]:
			c.Kind = ConflictBinary
		case !has("1"):
			c.Kind = ConflictAddAdd
		}
		if c.Kind == ConflictContent || c.Kind == ConflictAddAdd {
			marked, err := s.run(ctx, invocation{args: []string{"cat-file", "blob", tree + ":" + st.path}})
			if err != nil {
				return nil, err
			}
			c.Hunks, c.More = hunks(string(marked))
		}
		list = append(list, c)
	}
	return list, nil
}

// binaries reads off the messages of a merge which files are no text. Each message is the number of
// its paths, the paths, a word for its kind and a sentence.
func binaries(fields []string) map[string]bool {
	out := map[string]bool{}
	for len(fields) > 0 {
		var n int
		if _, err := fmt.Sscanf(fields[0], "%d", &n); err != nil || len(fields) < n+3 {
			return out
		}
		if fields[n+1] == "CONFLICT (binary)" {
			for _, path := range fields[1 : n+1] {
				out[path] = true
			}
		}
		fields = fields[n+3:]
	}
	return out
}

// hunks finds the places that git marked.
func hunks(text string) (list []Hunk, more int) {
	var h *Hunk
	var into *string
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "<<<<<<< ") && h == nil:
			h = &Hunk{}
			into = &h.Ours
		case strings.HasPrefix(line, "||||||| ") && h != nil && into == &h.Ours:
			into = &h.Base
		case strings.HasPrefix(line, "=======") && h != nil && into != &h.Theirs:
			into = &h.Theirs
		case strings.HasPrefix(line, ">>>>>>> ") && h != nil:
			if len(list) < mostHunks {
				list = append(list, Hunk{Base: shorten(h.Base), Ours: shorten(h.Ours), Theirs: shorten(h.Theirs)})
			} else {
				more++
			}
			h = nil
		case h != nil:
			*into += line
		}
	}
	return list, more
}

func shorten(text string) string {
	if len(text) > hunkBytes {
		text = fmt.Sprintf("%s… (%d bytes more)", text[:hunkBytes], len(text)-hunkBytes)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
