package journal

import "strings"

// ImportPrefix begins the id of a conversation that was imported, and of no other.
const ImportPrefix = "imported-"

// Imported reports whether a conversation was imported. It can be read and erased; no task in it
// runs.
func Imported(conversation string) bool { return strings.HasPrefix(conversation, ImportPrefix) }
