package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entry is a server as it was configured: a program with a command, or an address with a URL.
type Entry struct {
	Name string
	// Scope is whose it is: user, or the folder of a project. Pins are kept for each.
	Scope string

	Command string
	Args    []Text
	Env     map[string]Text
	Cwd     string
	// Hosts are where a program may send requests: a name, *.name, either with a port.
	Hosts []string

	URL     string
	Headers map[string]Text
}

// Text is a value that may hold secrets. Its reference says where they are, and may be shown.
type Text struct {
	Reference string
	// Reveal fetches the value, and lists the secrets in it.
	Reveal func() (text string, secrets []string, err error)
}

// Plain is a text without secrets.
func Plain(text string) Text {
	return Text{Reference: text, Reveal: func() (string, []string, error) { return text, nil, nil }}
}

// Identity is a hash of the fields that decide which program is started or which address reached,
// secrets by reference.
func (e Entry) Identity() string {
	references := func(table map[string]Text) map[string]string {
		out := map[string]string{}
		for name, text := range table {
			out[name] = text.Reference
		}
		return out
	}
	var args []string
	for _, a := range e.Args {
		args = append(args, a.Reference)
	}
	data, err := json.Marshal([]any{
		e.Command, args, references(e.Env), e.Cwd, slices.Sorted(slices.Values(e.Hosts)), e.URL, references(e.Headers),
	})
	if err != nil {
		panic(fmt.Sprintf("strings cannot be written as JSON: %v", err))
	}
	return digest(string(data))
}

// String is the server in one line: its command or its address.
func (e Entry) String() string {
	if e.URL != "" {
		return e.URL
	}
	words := []string{e.Command}
	for _, a := range e.Args {
		words = append(words, a.Reference)
	}
	return strings.Join(words, " ")
}

// digest is the SHA-256 of texts, kept apart, in hexadecimal.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// revealed is an entry with its secrets.
type revealed struct {
	args    []string
	env     []string
	headers map[string]string
	hide    *strings.Replacer
	secrets []string
}

// shortestSecret is how long a secret must be to be taken out of texts: shorter ones are in words
// too.
const shortestSecret = 6

// reveal fetches the secrets of an entry.
func (e Entry) reveal() (revealed, error) {
	out := revealed{headers: map[string]string{}}
	var pairs []string
	fetch := func(what string, t Text) (string, error) {
		text, secrets, err := t.Reveal()
		if err != nil {
			return "", fmt.Errorf("%s of server %s: %w", what, e.Name, err)
		}
		out.secrets = append(out.secrets, secrets...)
		for _, s := range secrets {
			if len(s) >= shortestSecret {
				pairs = append(pairs, s, "[secret]")
			}
		}
		return text, nil
	}
	for _, a := range e.Args {
		text, err := fetch("args", a)
		if err != nil {
			return out, err
		}
		out.args = append(out.args, text)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		text, err := fetch("env."+name, e.Env[name])
		if err != nil {
			return out, err
		}
		out.env = append(out.env, name+"="+text)
	}
	for name, t := range e.Headers {
		text, err := fetch("headers."+name, t)
		if err != nil {
			return out, err
		}
		out.headers[name] = text
	}
	out.hide = strings.NewReplacer(pairs...)
	return out, nil
}
