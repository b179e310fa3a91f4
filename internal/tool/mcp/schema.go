package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

const (
	// largestSchema is how many bytes a schema may have.
	largestSchema = 64 << 10
	// largestExpansion is how many values a schema may have once every reference is written out:
	// arguments are checked in time proportional to that.
	largestExpansion = 20_000
)

// hidden reports whether a character shows nothing: controls, marks of direction, characters of no
// width, tags, variation selectors, and those that nobody has given a meaning.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	case r == 0x00AD, r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x2800:
		return true
	}
	return unicode.Is(unicode.C, r) || r == unicode.ReplacementChar
}

// visible is a text without its invisible characters.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// schemaOf checks a schema, takes hidden characters out of it and writes it in one form.
func schemaOf(given any) (json.RawMessage, error) {
	if given == nil {
		return nil, errors.New("it has no schema")
	}
	data, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("its schema is no JSON: %w", err)
	}
	if len(data) > largestSchema {
		return nil, fmt.Errorf("its schema is larger than %d KiB", largestSchema>>10)
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("its schema is no JSON: %w", err)
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("its schema is no object")
	}
	// The words that people use are the same in all drafts; a name of a draft only keeps it from being
	// checked.
	delete(root, "$schema")
	if value, err = plain(root); err != nil {
		return nil, err
	}
	x := expansion{root: value, open: map[string]bool{}}
	if err := x.count(value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// plain is a value of JSON without hidden characters.
func plain(value any) (any, error) {
	switch v := value.(type) {
	case string:
		return visible(v), nil
	case []any:
		for i := range v {
			item, err := plain(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for key, item := range v {
			if visible(key) != key {
				return nil, errors.New("a name in its schema has hidden characters")
			}
			item, err := plain(item)
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
	}
	return value, nil
}

// expansion counts what a schema would have if every reference were written out.
type expansion struct {
	root any
	open map[string]bool
	seen int
}

func (x *expansion) count(value any) error {
	if x.seen++; x.seen > largestExpansion {
		return errors.New("its schema is too large once its references are written out")
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if err := x.count(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			if key == "$dynamicRef" || key == "$recursiveRef" {
				return fmt.Errorf("its schema uses %s", key)
			}
			if ref, ok := item.(string); ok && key == "$ref" {
				if err := x.follow(ref); err != nil {
					return err
				}
			}
			if err := x.count(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow counts what a reference leads to.
func (x *expansion) follow(ref string) error {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return fmt.Errorf("its schema refers to %q: only references inside of it can be followed", visible(ref))
	}
	if x.open[ref] {
		return errors.New("its schema refers to itself")
	}
	at := x.root
	for word := range strings.SplitSeq(pointer, "/") {
		word = strings.NewReplacer("~1", "/", "~0", "~").Replace(word)
		switch v := at.(type) {
		case map[string]any:
			at = v[word]
		case []any:
			i, err := strconv.Atoi(word)
			if err != nil || i < 0 || i >= len(v) {
				return fmt.Errorf("its schema refers to %q, which is not there", ref)
			}
			at = v[i]
		default:
			return fmt.Errorf("its schema refers to %q, which is not there", ref)
		}
	}
	x.open[ref] = true
	err := x.count(at)
	delete(x.open, ref)
	return err
}
