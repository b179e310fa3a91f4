package durable

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// TestFailuresAreRedacted has a value in an error and in its causes, with codecs and without.
func TestFailuresAreRedacted(t *testing.T) {
	const value = "open-sesame"
	cause := fmt.Errorf("dial %s: %w", value, errors.New("refused by "+value))
	for name, err := range map[string]error{
		"plain":       cause,
		"application": temporal.NewNonRetryableApplicationError("said "+value, "refused", cause),
	} {
		for _, codecs := range [][]Codec{nil, {converter.NewZlibCodec(converter.ZlibCodecOptions{})}} {
			data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codecs...)
			f := newFailures(data, ConnectOptions{
				Codecs: codecs, Redact: func(text string) string { return strings.ReplaceAll(text, value, "[secret]") },
			})
			kept := f.ErrorToFailure(err)
			if strings.Contains(kept.String(), value) {
				t.Errorf("%s: the engine keeps %s", name, kept)
			}
			depth := 0
			for at := kept; at != nil; at = at.GetCause() {
				if (at.GetEncodedAttributes() != nil) != (len(codecs) > 0) {
					t.Errorf("%s: encoded, at depth %d: %v", name, depth, at.GetEncodedAttributes() != nil)
				}
				depth++
			}
			back := f.FailureToError(kept)
			if text := back.Error(); strings.Contains(text, value) || !strings.Contains(text, "[secret]") || depth < 2 {
				t.Errorf("%s came back as %s, %d deep", name, text, depth)
			}
		}
	}
	if kept := newFailures(converter.GetDefaultDataConverter(), ConnectOptions{}).ErrorToFailure(nil); kept != nil {
		t.Errorf("nothing became %s", kept)
	}
}
