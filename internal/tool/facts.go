package tool

// Facts are the effects of a call, for receipts. They come from the tool, never from a model.
type Facts struct {
	// Read are the files that the text rests on.
	Read []File `json:"read,omitempty"`
	// Wrote are the files that differ now.
	Wrote []Change `json:"wrote,omitempty"`
	// Commands are the programs that ran.
	Commands []Command `json:"commands,omitempty"`
	// Fetched are the pages that were read.
	Fetched []Page `json:"fetched,omitempty"`
	// Reached are the hosts to which there were connections.
	Reached []Host `json:"reached,omitempty"`
	// Partial means that not everything could be looked at: files that Wrote does not list may have
	// been changed.
	Partial bool `json:"partial,omitempty"`
}

// Empty reports whether there is nothing to tell.
func (f Facts) Empty() bool { return f.Count() == 0 && len(f.Reached) == 0 && !f.Partial }

// Count is the number of facts that a claim can rest on. A reached host proves nothing about its
// answer.
func (f Facts) Count() int {
	return len(f.Read) + len(f.Wrote) + len(f.Commands) + len(f.Fetched)
}

// File is a fact about a file: its path in the workspace and its content.
type File struct {
	Path string `json:"path"`
	// Hash is the SHA-256 of the whole content, in hexadecimal.
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// Unknown replaces the hash of a file that exists or existed and was not read.
const Unknown = "?"

// Change is a file before and after. A hash is empty where there was no file, or is none.
type Change struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Bytes  int64  `json:"bytes"`
	// Added and Removed count lines.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
}

// Command is a program that ran to its end, or until it was stopped.
type Command struct {
	Line string `json:"line"`
	// Exit is its code; Signal says what ended it instead.
	Exit     int    `json:"exit"`
	Signal   string `json:"signal,omitempty"`
	Duration int64  `json:"duration_ms"`
	// Tests are its test results, if it ran tests.
	Tests *Tests `json:"tests,omitempty"`
}

// Tests are counted from the output of a test runner.
type Tests struct {
	Runner  string `json:"runner"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped,omitempty"`
}

// Page is something that was fetched.
type Page struct {
	// URL is where it was in the end, after redirects.
	URL    string `json:"url"`
	Status int    `json:"status"`
	Hash   string `json:"hash,omitempty"`
}

// Host is one that was reached, and the bytes that went there and came from there.
type Host struct {
	Name     string `json:"name"`
	Port     uint16 `json:"port"`
	Sent     int64  `json:"sent"`
	Received int64  `json:"received"`
}
