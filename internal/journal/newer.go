package journal

import (
	"encoding/json"
	"slices"
)

// Newer is a row of a kind that this build does not know. A newer build has written it, during an
// upgrade or before a rollback. It is read so that the rest of the list can be read, shown to
// nobody, handed on as it is, and never written.
type Newer struct {
	nowhere
	// Of is its kind, and Body its content.
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
