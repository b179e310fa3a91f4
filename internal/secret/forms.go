package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Forms are a value and its encodings, each once.
func Forms(value string) []string {
	out := []string{value}
	for _, json := range []func(string) string{plainJSON, safeJSON} {
		once := json(value)
		out = append(out, once, json(once)) // a text with JSON in it may be part of JSON itself
	}
	quoted := strconv.Quote(value)
	out = append(out, quoted[1:len(quoted)-1])
	for _, escaped := range []string{
		url.QueryEscape(value), url.PathEscape(value), strings.TrimPrefix(url.UserPassword("", value).String(), ":"),
	} {
		out = append(out, escaped, percent.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	digits := hex.EncodeToString([]byte(value))
	out = append(out, digits, strings.ToUpper(digits))
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		out = append(out, e.EncodeToString([]byte(value)), e.WithPadding(base64.NoPadding).EncodeToString([]byte(value)))
		for before := range 3 {
			out = append(out, within(e, value, before))
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(form string) bool { return len(form) < least })
}

// percent is one byte that is percent-encoded.
var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// plainJSON is a text as it stands between the quotes of a JSON string.
func plainJSON(text string) string {
	out := encode(text)
	return out[1 : len(out)-1]
}

// safeJSON is the same with what HTML means something by escaped as well, as Go does it.
func safeJSON(text string) string {
	out, _ := json.Marshal(text) // a text can always be written
	return string(out[1 : len(out)-1])
}

// within is what base64 makes of a value with so many bytes before it, modulo 3, and anything
// behind it: the letters that depend on the value alone.
func within(e *base64.Encoding, value string, before int) string {
	encoded := e.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	first := (before*8 + 5) / 6
	last := (before + len(value)) * 8 / 6
	return encoded[first:last]
}
