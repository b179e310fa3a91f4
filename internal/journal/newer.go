package journal

import (
	"encoding/json"
	"slices"
)

// Newer is a row of a kind that this build does not know: a newer one has written it, while an
// installation is being upgraded or before it was rolled back. It is read so that the rest of the
// list can be, shown to nobody, handed on as it is, and never written.
type Newer struct {
	nowhere
	// Of is its kind, and Body what is recorded.
	Of   Kind
	Body json.RawMessage
}

// Key implements Row. A build that does not know the kind does not know the key.
func (Newer) Key() string { return "" }

// Kind implements Row.
func (r Newer) Kind() Kind { return r.Of }

// MarshalJSON implements json.Marshaler.
func (r Newer) MarshalJSON() ([]byte, error) { return r.Body, nil }

// Read reads a row that is recorded. A body that does not fit its kind is an error; a kind that
// this build does not know is none.
func Read(kind Kind, body []byte) (Row, error) {
	if _, known := decoders[kind]; !known {
		return Newer{Of: kind, Body: slices.Clone(body)}, nil
	}
	return Decode(kind, body)
}
