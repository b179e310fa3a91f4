package document

import "fmt"

// OriginKind says what kind of place a value came from.
type OriginKind string

// The places a value can come from.
const (
	FromDefault OriginKind = "default"
	FromBuiltIn OriginKind = "built-in"
	FromFile    OriginKind = "file"
	FromEnv     OriginKind = "environment"
	FromFlag    OriginKind = "flag"
	// FromSettings is a value of a role that the settings gave it.
	FromSettings OriginKind = "settings"
)

// Origin is where a value came from.
type Origin struct {
	Kind OriginKind `json:"kind"`
	// Name is the file, the variable or the flag.
	Name   string `json:"name,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String is the origin as people read it: roles/coder.md:4, RETINUE_DATA_DIR, default.
func (o Origin) String() string {
	switch o.Kind {
	case FromDefault:
		if o.Name != "" {
			return "default (" + o.Name + ")"
		}
		return "default"
	case FromBuiltIn:
		return fmt.Sprintf("built-in %s:%d", o.Name, o.Line)
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case FromEnv, FromFlag:
		return o.Name
	case FromSettings:
		return "settings " + o.Name
	}
	return string(o.Kind)
}

// Warning is something in a file that its author should know. It is an error too, for the reader
// that cannot continue.
type Warning struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Skipped means that the file is not used at all.
	Skipped bool   `json:"skipped,omitempty"`
	Text    string `json:"text"`
}

// Error implements error.
func (w Warning) Error() string {
	at := w.File
	if w.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", at, w.Line, w.Column)
	}
	if w.Skipped {
		return at + ": not used: " + w.Text
	}
	return at + ": " + w.Text
}
