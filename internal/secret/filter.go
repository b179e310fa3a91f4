package secret

import (
	"encoding/base32"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Filter finds values in outgoing texts. It searches harder than a vault that redacts: in any case
// of letters, under several layers of percent-encoding, with spaces and line breaks in between, and
// in base32. A request in which it finds one is refused as a whole, so a false alarm costs a
// request and no content.
type Filter struct {
	// forms are grouped by their first bytes, so that a long text is read once.
	forms map[[least]byte][]form
}

// form is one encoding of a value, in lower case.
type form struct{ text, name string }

// Filter is made of the vault's current values and of others, each with a name that may be shown.
// An excepted value passes: its holder was given it in order to send it.
func (v *Vault) Filter(others map[string]string, except ...string) *Filter {
	names := maps.Clone(others)
	if names == nil {
		names = map[string]string{}
	}
	if v != nil {
		v.mu.Lock()
		for value, name := range v.names {
			names[value] = "the secret " + name
		}
		v.mu.Unlock()
	}
	f := &Filter{forms: map[[least]byte][]form{}}
	for _, value := range slices.Sorted(maps.Keys(names)) {
		if len(value) < least || slices.Contains(except, value) {
			continue
		}
		for _, text := range slices.Concat(Forms(value), base32Forms(value)) {
			f.add(form{strings.ToLower(text), names[value]})
		}
	}
	return f
}

func (f *Filter) add(added form) {
	if len(added.text) < least {
		return
	}
	start := [least]byte([]byte(added.text))
	if !slices.ContainsFunc(f.forms[start], func(known form) bool { return known.text == added.text }) {
		f.forms[start] = append(f.forms[start], added)
	}
}

// base32Forms are the base32 encodings of a value, at each position that it can have in a longer
// text. Host names ignore case, so data hidden in them is base32.
func base32Forms(value string) []string {
	var out []string
	for _, e := range []*base32.Encoding{base32.StdEncoding, base32.HexEncoding} {
		e = e.WithPadding(base32.NoPadding)
		for before := range 5 {
			encoded := e.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
			out = append(out, encoded[(before*8+4)/5:(before+len(value))*8/5])
		}
	}
	return out
}

// layers is how many times percent-encoding is undone.
const layers = 3

// Find names a value that is in a text.
func (f *Filter) Find(text string) (name string, found bool) {
	if len(f.forms) == 0 {
		return "", false
	}
	for range layers + 1 {
		if name, found = f.look(text); found {
			return name, true
		}
		decoded := unescape(text)
		if decoded == text {
			break
		}
		text = decoded
	}
	return "", false
}

// look finds a value in a text as it is, and with what shows nothing left out.
func (f *Filter) look(text string) (string, bool) {
	text = strings.ToLower(text)
	if name, found := f.scan(text); found {
		return name, true
	}
	if joined := strings.Map(dense, text); joined != text {
		return f.scan(joined)
	}
	return "", false
}

func dense(r rune) rune {
	if unicode.IsSpace(r) {
		return -1
	}
	return r
}

func (f *Filter) scan(text string) (string, bool) {
	for i := 0; i+least <= len(text); i++ {
		for _, known := range f.forms[[least]byte([]byte(text[i:i+least]))] {
			if strings.HasPrefix(text[i:], known.text) {
				return known.name, true
			}
		}
	}
	return "", false
}

// everyByte is one byte that is percent-encoded, in either case.
var everyByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescape undoes percent-encoding, and leaves other text as it is.
func unescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	return everyByte.ReplaceAllStringFunc(text, func(escaped string) string {
		decoded, err := url.PathUnescape(escaped)
		if err != nil {
			return escaped
		}
		return decoded
	})
}
