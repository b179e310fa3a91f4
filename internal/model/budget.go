package model

import (
	"context"
	"hash/maphash"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Budget pays for the sendings of one call, so that all of them together cost no more than they
// may.
type Budget interface {
	// Take reserves the most that one sending may cost, in millionths of a US dollar, zero if that
	// is unknown. It returns the end of a call that must not be sent.
	Take(ctx context.Context, most int64) *Error
	// Return returns the unused part of a sending's reservation.
	Return(rest int64)
}

// Counted is a provider's count of the beginning of a conversation, for a request that continues
// from there.
type Counted struct {
	// Name is the provider and the model that counted: another one may cut texts into more tokens.
	Name string
	// Tokens is all that the request had.
	Tokens   int64
	messages int
	tools    int
	sum      uint64
}

// The estimated tokens of a request beside its texts. Providers do not publish them; these are
// several times the known figures.
const (
	requestExtra = 1_024
	toolExtra    = 64
	partExtra    = 64
)

// Images are charged by their size in pixels, each provider by a formula of its own. These are the
// most that the formulas give, for Claude and for all others.
const (
	claudeImage = 5_000
	anyImage    = 50_000
)

var sumSeed = maphash.MakeSeed()

// Counted is the count in an answer, for the requests after it. Estimates do not count.
func (r Request) Counted(reply Reply) *Counted {
	if reply.Estimated || reply.Usage.Input <= 0 || reply.Name == "" {
		return nil
	}
	return &Counted{
		Name: reply.Name, Tokens: reply.Usage.Input, messages: len(r.Transcript), tools: r.toolBytes(),
		sum: r.sum(len(r.Transcript)),
	}
}

// Most is how many tokens the request has at most before a model, provider/model. A token is at
// least one byte of text, so a text has no more tokens than bytes. For a beginning that the same
// model has counted before, that count is used.
func (r Request) Most(name string) int64 {
	c, from := r.Before, 0
	var sum int64
	if c != nil && c.Name == name && c.messages <= len(r.Transcript) && r.toolBytes() <= c.tools && r.sum(c.messages) == c.sum {
		from, sum = c.messages, c.Tokens
	} else {
		sum = requestExtra + int64(r.toolBytes()+len(r.Tools)*toolExtra)
		for _, in := range r.System {
			sum += int64(len(in.Text)) + partExtra
		}
	}
	image := int64(anyImage)
	if strings.Contains(strings.ToLower(name), "claude") {
		image = claudeImage
	}
	for _, msg := range r.Transcript[from:] {
		for _, p := range msg.Parts {
			sum += int64(len(p.Text)+len(p.Args)+len(p.Tool)+len(p.Call)+len(p.Seal)) + partExtra
			if p.Kind == chat.PartImage {
				sum += image
			}
		}
	}
	return sum
}

func (r Request) toolBytes() (sum int) {
	for _, t := range r.Tools {
		sum += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return sum
}

// sum tells instructions and the first messages from any others.
func (r Request) sum(messages int) uint64 {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	write := func(texts ...string) {
		for _, s := range texts {
			_, _ = h.WriteString(s) // never fails
			_ = h.WriteByte(0)
		}
	}
	for _, in := range r.System {
		write(in.Text)
	}
	for _, msg := range r.Transcript[:messages] {
		write(string(msg.Speaker))
		for _, p := range msg.Parts {
			write(string(p.Kind), p.Text, p.Args, p.Tool, p.Call, p.Seal, p.Image)
		}
	}
	return h.Sum64()
}
