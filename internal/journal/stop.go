package journal

import (
	"net/url"
	"strings"
)

const stopPrefix = "cancel:"

// StopPost is the id of the post that a person's command to stop makes. Names may have any letters in them.
func StopPost(id, by, task string) string {
	return stopPrefix + url.PathEscape(id) + "|" + url.PathEscape(by) + "|" + task
}

// StopOf is what such an id says; ok is false for that of another post.
func StopOf(post string) (id, by, task string, ok bool) {
	rest, ok := strings.CutPrefix(post, stopPrefix)
	parts := append(strings.SplitN(rest, "|", 3), "", "")
	return unescaped(parts[0]), unescaped(parts[1]), parts[2], ok
}

func unescaped(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		return plain
	}
	return part
}
