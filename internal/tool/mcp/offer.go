package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/tool"
)

const (
	// mostTools is how many tools of one server are looked at.
	mostTools = 256
	// longestDescription is how many bytes of a description are kept.
	longestDescription = 8 << 10
	// mostText is how many bytes all descriptions and schemas of a server may have together.
	mostText = 1 << 20
	// longestName is how long a tool's name may be for a model.
	longestName = 64
)

// Offer is a tool as its server describes it, in a form that may be shown to a model.
type Offer struct {
	// Name is the server's, Tool ours.
	Name        string          `json:"name"`
	Tool        string          `json:"tool"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	// Hash is of the server's identity, the name, the description and the schema.
	Hash string `json:"hash"`
	// Problem says why it cannot be used, if it cannot.
	Problem string `json:"-"`
}

// offers turns a server's list into the form in which tools are approved and offered.
func offers(e Entry, listed []*sdk.Tool) []Offer {
	identity, taken, text := e.Identity(), map[string]bool{}, 0
	for _, t := range listed {
		if t != nil && plainName.MatchString(t.Name) { // an exact name goes before one that was made fit
			taken[toolName(e.Name, t.Name)] = false
		}
	}
	out := make([]Offer, 0, len(listed))
	for _, t := range listed {
		if t == nil {
			continue
		}
		o := newOffer(e, identity, t)
		text += len(o.Description) + len(o.Schema)
		used, known := taken[o.Tool]
		switch {
		case o.Problem != "":
		case used || known && !plainName.MatchString(t.Name):
			o.Problem = "another tool of the server has the same name"
		case text > mostText:
			o.Problem = fmt.Sprintf("the server's tools are described in more than %d KiB", mostText>>10)
		default:
			taken[o.Tool] = true
		}
		out = append(out, o)
	}
	return out
}

func newOffer(e Entry, identity string, t *sdk.Tool) Offer {
	o := Offer{Name: t.Name, Tool: toolName(e.Name, t.Name), Description: describe(t)}
	if utf8.RuneCountInString(t.Name) > 4*longestName || visible(t.Name) != t.Name {
		o.Name = cut(visible(t.Name), longestName)
		o.Problem = "its name is too long or has hidden characters"
		return o
	}
	var err error
	if o.Schema, err = schemaOf(t.InputSchema); err != nil {
		o.Problem = err.Error()
		return o
	}
	o.Hash = digest(identity, o.Name, o.Description, string(o.Schema))
	if _, err := tool.NewSet(tool.Options{}, &remote{pin: o}); err != nil {
		o.Problem = cut(visible(err.Error()), 300)
	}
	return o
}

// describe is the description of a tool for a model.
func describe(t *sdk.Tool) string {
	text := strings.TrimSpace(visible(t.Description))
	if text == "" {
		text = strings.TrimSpace(visible(t.Title))
	}
	if text == "" {
		return "A tool that its server does not describe."
	}
	return cut(text, longestDescription)
}

// plainName is a tool's name that can be used as it is.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// toolName is our name for a server's tool. One that has to be made fit ends in a part of its hash,
// so that two of them do not become one.
func toolName(server, name string) string {
	full := "mcp__" + server + "__" + name
	if plainName.MatchString(name) && len(full) <= longestName {
		return full
	}
	fit := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && plainName.MatchString(string(r)) {
			return r
		}
		return '_'
	}, full)
	mark := "_" + digest(name)[:8]
	return fit[:min(len(fit), longestName-len(mark))] + mark
}

// cut shortens a text to so many bytes, between letters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
