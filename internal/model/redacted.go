package model

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Redactor takes out of texts what must not surface.
type Redactor interface {
	Redact(text string) string
	// RedactJSON leaves JSON what is JSON.
	RedactJSON(text string) string
	// Held is how many bytes at the end of a text may be the beginning of a secret.
	Held(text string) int
}

// Redacted is a Client whose replies, deltas and errors are redacted. It sits above all others, so
// that the host decides by, records and publishes the same text.
type Redacted struct {
	client Client
	by     Redactor
}

// NewRedacted redacts the replies of a client.
func NewRedacted(client Client, by Redactor) *Redacted { return &Redacted{client: client, by: by} }

// Generate implements Client.
func (r *Redacted) Generate(ctx context.Context, req Request, told func(Delta)) (Reply, error) {
	s := &redactedStream{by: r.by, told: told, held: map[int]Delta{}}
	if told != nil {
		told = s.take
	}
	reply, err := r.client.Generate(ctx, req, told)
	s.flush()
	if err != nil {
		var failure *Error
		if !errors.As(err, &failure) {
			return Reply{}, err
		}
		clean := *failure
		clean.Message = r.by.Redact(failure.Message)
		return Reply{}, &clean
	}
	reply.ID, reply.Model = r.by.Redact(reply.ID), r.by.Redact(reply.Model)
	reply.Parts = slices.Clone(reply.Parts)
	for i := range reply.Parts {
		r.redact(&reply.Parts[i])
	}
	return reply, nil
}

// redact redacts a part. Thinking is sealed, and no longer fits its seal once it is changed:
// without a seal the provider is not sent it again.
func (r *Redacted) redact(p *chat.Part) {
	text := r.by.Redact(p.Text)
	if text != p.Text {
		p.Text, p.Seal = text, ""
	}
	p.Tool, p.Args = r.by.Redact(p.Tool), r.by.RedactJSON(p.Args)
}

// redactedStream redacts deltas. A secret may be split over several, so a possible beginning of one
// is held back, for each part by itself, until it is clear or the reply ends.
type redactedStream struct {
	by    Redactor
	told  func(Delta)
	begun int
	held  map[int]Delta
}

func (s *redactedStream) take(d Delta) {
	if d.Attempt > s.begun {
		s.begun, s.held = d.Attempt, map[int]Delta{}
	}
	text := s.by.Redact(s.held[d.Part].Text + d.Text)
	n := s.by.Held(text)
	rest := d
	rest.Tool, rest.Text = "", text[len(text)-n:]
	s.held[d.Part] = rest
	quiet := d.Text != "" && d.Tool == ""
	d.Tool, d.Text = s.by.Redact(d.Tool), text[:len(text)-n]
	if d.Text != "" || !quiet {
		s.told(d)
	}
}

// flush sends the text that was held back: nothing comes after it.
func (s *redactedStream) flush() {
	for _, part := range slices.Sorted(maps.Keys(s.held)) {
		if d := s.held[part]; d.Text != "" {
			s.told(d)
		}
	}
}
