package durable

import (
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// failures turns errors into the form that the engine keeps, redacted. Everything that fails goes
// through here: activities, workflows and their panics.
type failures struct {
	converter.FailureConverter
	data   converter.DataConverter
	redact func(string) string
	// encode has messages go through the codecs, after they are redacted.
	encode bool
}

func newFailures(data converter.DataConverter, o ConnectOptions) failures {
	f := failures{
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: data}),
		data:             data, redact: o.Redact, encode: len(o.Codecs) > 0,
	}
	if f.redact == nil {
		f.redact = func(text string) string { return text }
	}
	return f
}

// ErrorToFailure implements converter.FailureConverter. A failure that came from the engine is in
// it as it came, and was encoded then.
func (f failures) ErrorToFailure(err error) *failure.Failure {
	out := f.FailureConverter.ErrorToFailure(err)
	for at := out; at != nil; at = at.GetCause() {
		if at.GetEncodedAttributes() != nil {
			continue
		}
		at.Message, at.StackTrace = f.redact(at.GetMessage()), f.redact(at.GetStackTrace())
		if f.encode {
			if err := converter.EncodeCommonFailureAttributes(f.data, at); err != nil {
				at.Message, at.StackTrace = "A failure that could not be encoded", ""
			}
		}
	}
	return out
}
