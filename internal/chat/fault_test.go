package chat

import (
	"slices"

	"pgregory.net/rapid"
)

// fault is one way to damage a valid transcript so that no provider would take it.
type fault struct {
	name string
	// places lists where the damage makes a valid transcript invalid; there may be none.
	places func(Transcript) []place
	// apply damages the transcript it is given and returns it.
	apply func(*rapid.T, Transcript, place) Transcript
}

// place is a message, and a part of it or a second message.
type place struct{ message, part, second int }

// faults leave out changes that keep a transcript valid: results of one message in another order,
// and messages of one speaker in another order when none of them opens or answers a call.
var faults = []fault{
	{"drop a result", where(isResult), func(_ *rapid.T, c Transcript, at place) Transcript {
		parts := c[at.message].Parts
		c[at.message].Parts = slices.Delete(parts, at.part, at.part+1)
		return c
	}},
	{"copy a result in front of any message", where(isResult), copyResult},
	{"put a result behind the words", resultsBeforeWords, putResultLast},
	{"answer another call", where(isResult), func(t *rapid.T, c Transcript, at place) Transcript {
		p := &c[at.message].Parts[at.part]
		p.Call = rapid.SampledFrom(append(otherCalls(c, p.Call), "", "unknown")).Draw(t, "call")
		return c
	}},
	{"use a call id again", secondCalls, func(t *rapid.T, c Transcript, at place) Transcript {
		call := c[at.message].Parts[at.part].Call
		return renamed(c, call, rapid.SampledFrom(otherCalls(c, call)).Draw(t, "call"))
	}},
	{"empty a call id", where(isUse), func(_ *rapid.T, c Transcript, at place) Transcript {
		return renamed(c, c[at.message].Parts[at.part].Call, "")
	}},
	{"empty a text", where(hasText), func(_ *rapid.T, c Transcript, at place) Transcript {
		c[at.message].Parts[at.part].Text = ""
		return c
	}},
	{"lose an image", where(isImage), func(_ *rapid.T, c Transcript, at place) Transcript {
		c[at.message].Parts[at.part].Image = ""
		return c
	}},
	{"empty a message", messages, func(_ *rapid.T, c Transcript, at place) Transcript {
		c[at.message].Parts = nil
		return c
	}},
	{"remove a message", messages, func(_ *rapid.T, c Transcript, at place) Transcript {
		return slices.Delete(c, at.message, at.message+1)
	}},
	{"repeat a message", messages, func(_ *rapid.T, c Transcript, at place) Transcript {
		return slices.Insert(c, at.message, c[at.message])
	}},
	{"change the speaker", messages, func(t *rapid.T, c Transcript, at place) Transcript {
		others := slices.DeleteFunc([]Speaker{User, Assistant, "system", ""}, func(s Speaker) bool {
			return s == c[at.message].Speaker
		})
		c[at.message].Speaker = rapid.SampledFrom(others).Draw(t, "speaker")
		return c
	}},
	{"swap two messages", swaps, func(_ *rapid.T, c Transcript, at place) Transcript {
		c[at.message], c[at.second] = c[at.second], c[at.message]
		return c
	}},
}

func isResult(p Part) bool { return p.Kind == PartToolResult }
func isUse(p Part) bool    { return p.Kind == PartToolUse }
func isImage(p Part) bool  { return p.Kind == PartImage }
func isPaired(p Part) bool { return isUse(p) || isResult(p) }
func hasText(p Part) bool  { return p.Text != "" }

// where finds the message parts that a fault needs.
func where(wanted func(Part) bool) func(Transcript) []place {
	return func(c Transcript) []place {
		var found []place
		for i, msg := range c {
			for j, p := range msg.Parts {
				if wanted(p) {
					found = append(found, place{message: i, part: j})
				}
			}
		}
		return found
	}
}

func messages(c Transcript) []place {
	found := make([]place, len(c))
	for i := range c {
		found[i].message = i
	}
	return found
}

// resultsBeforeWords finds the results that share their message with something else.
func resultsBeforeWords(c Transcript) []place {
	return slices.DeleteFunc(where(isResult)(c), func(at place) bool {
		return !slices.ContainsFunc(c[at.message].Parts, func(p Part) bool { return !isResult(p) })
	})
}

// secondCalls finds all calls but the first: a call that is alone has no other id to take.
func secondCalls(c Transcript) []place {
	calls := where(isUse)(c)
	return calls[min(1, len(calls)):]
}

// swaps finds the pairs of different speakers, and those of which one opens or answers a call.
func swaps(c Transcript) []place {
	var found []place
	for i := range c {
		for j := range i {
			paired := slices.ContainsFunc(c[i].Parts, isPaired) || slices.ContainsFunc(c[j].Parts, isPaired)
			if c[i].Speaker != c[j].Speaker || paired {
				found = append(found, place{message: j, second: i})
			}
		}
	}
	return found
}

func copyResult(t *rapid.T, c Transcript, at place) Transcript {
	p := c[at.message].Parts[at.part]
	to := rapid.IntRange(0, len(c)-1).Draw(t, "to")
	c[to].Parts = slices.Insert(c[to].Parts, 0, p)
	return c
}

func putResultLast(_ *rapid.T, c Transcript, at place) Transcript {
	parts := c[at.message].Parts
	p := parts[at.part]
	c[at.message].Parts = append(slices.Delete(parts, at.part, at.part+1), p)
	return c
}

// otherCalls lists the ids of all calls but one.
func otherCalls(c Transcript, but string) []string {
	var ids []string
	for _, p := range collect(c, isUse) {
		if p.Call != but {
			ids = append(ids, p.Call)
		}
	}
	return ids
}

// renamed gives a call and its result another id.
func renamed(c Transcript, call, id string) Transcript {
	for _, msg := range c {
		for i := range msg.Parts {
			if msg.Parts[i].Call == call && isPaired(msg.Parts[i]) {
				msg.Parts[i].Call = id
			}
		}
	}
	return c
}
