package model

import "github.com/retinue-dev/retinue/internal/chat"

// Count is a provider's unchecked report of a call's usage. Input includes tokens read from or
// written to a cache, Output includes Reasoning; zero means not reported.
type Count struct {
	Input, Output, CacheRead, CacheWrite, Reasoning int64
}

const (
	// mostTokens is more than any model takes or gives in one call.
	mostTokens = 10_000_000
	// imageTokens is the estimate for an image, and mostImageTokens its highest cost.
	imageTokens     = 4_096
	mostImageTokens = 100_000
	// toolTokens is what providers write around the tools of a request, and pieceBytes around a part
	// of a reply.
	toolTokens = 512
	pieceBytes = 64
	// slack allows for what providers add to a request unseen.
	slack = 16_384
)

// Total adds the parts of a count. If one part is impossible, so is the total.
func Total(parts ...int64) int64 {
	var sum int64
	for _, n := range parts {
		if n < 0 || n > mostTokens {
			return -1
		}
		sum += n
	}
	return sum
}

// Estimate is how many tokens the request has at most, as far as anybody can tell without the
// provider: two bytes to the token, rounded up.
func (r Request) Estimate() int64 {
	var bytes, images int
	for _, in := range r.System {
		bytes += len(in.Text)
	}
	for _, t := range r.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, msg := range r.Transcript {
		for _, p := range msg.Parts {
			bytes += len(p.Text) + len(p.Args) + len(p.Tool) + len(p.Call) + len(p.Seal) + 16
			if p.Kind == chat.PartImage {
				images++
			}
		}
	}
	estimate := tokens(bytes) + int64(images)*imageTokens
	if len(r.Tools) > 0 {
		estimate += toolTokens
	}
	return estimate
}

// tokens estimates a text from its length, rounded up.
func tokens(bytes int) int64 { return (int64(bytes) + 1) / 2 }

// usage takes over a count where it is possible and estimates the rest; it reports whether it had
// to. Written is the length of everything the reply holds.
func (c Count) usage(r Request, stop Stop, written int) (chat.Usage, bool) {
	in, out := r.Estimate(), tokens(written)
	mostIn := 4*in + slack + int64(len(r.Images))*mostImageTokens
	mostOut := max(2*r.MaxOutput, 2*out) + slack
	u := chat.Usage{
		Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite,
		Reasoning: c.Reasoning,
	}
	estimated := false
	cached := Total(c.CacheRead, c.CacheWrite)
	if c.Input <= 0 || c.Input > mostIn || cached < 0 || cached > c.Input {
		estimated = true
		u.Input, u.CacheRead, u.CacheWrite = in, 0, 0
	}
	missing := c.Output == 0 && written > 0
	if missing || c.Output < 0 || c.Output > mostOut || c.Reasoning < 0 || c.Reasoning > c.Output {
		estimated = true
		u.Output, u.Reasoning = out, 0
		if stop == StopMaxTokens {
			u.Output = max(out, r.MaxOutput)
		}
	}
	return u, estimated
}

// known is the known use of an unfinished call: the provider's figures, where they are possible.
func (c Count) known(r Request) chat.Usage {
	if c == (Count{}) {
		return chat.Usage{}
	}
	u, estimated := c.usage(r, "", 0)
	if estimated {
		return chat.Usage{}
	}
	return u
}
