package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Redactor takes out of texts what must not be recorded.
type Redactor interface {
	Redact(text string) string
	// RedactJSON leaves JSON what is JSON.
	RedactJSON(text string) string
}

// Redacted is a Log whose rows are redacted before they are written, every string of them. It is
// the last of several places: the code that makes a row redacts it as well, so that its own copy
// equals the record.
type Redacted struct {
	Log
	by Redactor
}

// NewRedacted redacts the appends to a log.
func NewRedacted(log Log, by Redactor) *Redacted { return &Redacted{Log: log, by: by} }

// Append implements Writer. A row whose key would have to be redacted is refused: nobody would find
// it.
func (l *Redacted) Append(ctx context.Context, ref Ref, at time.Time, rows ...Row) ([]Written, error) {
	clean := make([]Row, len(rows))
	for i, row := range rows {
		var err error
		if clean[i], err = l.clean(row); err != nil {
			return nil, err
		}
	}
	return l.Log.Append(ctx, ref, at, clean...)
}

// Keep implements Writer. A text is found by the hash of its content, so one that is not redacted
// yet is refused.
func (l *Redacted) Keep(ctx context.Context, ref Ref, texts ...string) error {
	for _, text := range texts {
		if l.by.Redact(text) != text {
			return refused("a text with a secret in it cannot be kept: take the secret out of the role or the prompt")
		}
	}
	return l.Log.Keep(ctx, ref, texts...)
}

// clean redacts a row.
func (l *Redacted) clean(row Row) (Row, error) {
	if !l.dirty(reflect.ValueOf(row)) {
		return row, nil
	}
	body, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("redact row of kind %s: %w", row.Kind(), err)
	}
	clean, err := Decode(row.Kind(), []byte(l.by.RedactJSON(string(body))))
	if err != nil {
		return nil, fmt.Errorf("redact row of kind %s: %w", row.Kind(), err)
	}
	if clean.Key() != row.Key() {
		return nil, refused("a row of kind %s has a secret in its id", row.Kind())
	}
	return clean, nil
}

// dirty reports whether something in a value is to be redacted.
func (l *Redacted) dirty(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		return l.by.Redact(v.String()) != v.String()
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text := string(v.Bytes())
			return l.by.Redact(text) != text
		}
		for i := range v.Len() {
			if l.dirty(v.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if l.dirty(v.Field(i)) {
				return true
			}
		}
	default:
	}
	return false
}
