package document

import (
	"strings"
	"unicode/utf8"
)

// Clip cuts a text at a blank near the cap.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	text = text[:most]
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		text = text[:i]
	}
	return text + " …"
}
