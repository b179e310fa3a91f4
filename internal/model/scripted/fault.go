package scripted

import (
	"slices"
	"time"
)

// Fault is something that goes wrong on purpose.
type Fault struct {
	// ID is its number in the reliability plan, Name what scripts call it.
	ID, Name string
	// Does says what happens, and Must the required outcome.
	Does, Must string

	// answer spoils the content, told the reported cost, wire the transport.
	answer func(*ask, *answer, Trouble)
	told   func(*answer, Trouble)
	wire   func(*exchange, Trouble)
}

// exchange is one request and its response on the way to being sent.
type exchange struct {
	ask      *ask
	answer   *answer
	response *response
	// id is the name of the exchange, age the time since its rule was first used.
	id  string
	age time.Duration
}

// Faults is the table of everything that can go wrong, in the order of the plan.
func Faults() []Fault { return slices.Concat(serverFaults(), streamFaults(), contentFaults()) }

// faultNamed finds a fault by its name or id.
func faultNamed(name string) (Fault, bool) {
	for _, f := range Faults() {
		if f.Name == name || f.ID == name {
			return f, true
		}
	}
	return Fault{}, false
}

func faultNames() []string {
	var out []string
	for _, f := range Faults() {
		out = append(out, f.Name)
	}
	return out
}

const (
	oneError = "one retryable error"
	orWhole  = "one error, or the whole reply; never a part of it"
)

// serverFaults are what happens before a stream begins.
func serverFaults() []Fault {
	return []Fault{
		{
			ID: "L1", Name: "refused", Must: oneError, wire: hangUp,
			Does: "nobody listens: use Refused; in a script the connection is torn down before a byte",
		},
		{
			ID: "L2", Name: "tls_reset", Must: oneError, wire: hangUp,
			Does: "the handshake is torn down: use ListenReset; in a script as for refused",
		},
		{
			ID: "L3", Name: "stall", Must: oneError + " once the idle time is over", wire: stall,
			Does: "no byte for wait (180 s), then the whole reply",
		},
		{
			ID: "L4", Name: "drip", Must: orWhole, wire: drip,
			Does: "one byte per wait (1 s)",
		},
		{
			ID: "L5", Name: "rate_limited", Must: oneError + " that knows how long to wait", wire: limited,
			Does: "429 with Retry-After of wait (1 s)",
		},
		{
			ID: "L6", Name: "rate_limited_bare", Must: oneError, wire: limitedBare,
			Does: "429 without Retry-After",
		},
		{
			ID: "L7", Name: "overloaded", Must: oneError, wire: overloaded,
			Does: "529 from Anthropic, 503 from OpenAI",
		},
		{ID: "L8", Name: "server_error", Must: oneError, wire: serverError, Does: "500"},
		{ID: "L9", Name: "bad_gateway", Must: oneError, wire: badGateway, Does: "502 with a page of HTML"},
		{
			ID: "L10", Name: "late_gateway", Must: oneError + " whose cost is unknown", wire: lateGateway,
			Does: "504 after the whole reply was generated, which is billed, and after wait (0)",
		},
	}
}

// streamFaults are what happens to a stream on its way.
func streamFaults() []Fault {
	return []Fault{
		{
			ID: "L11", Name: "cut", Must: orWhole, wire: cut,
			Does: "the connection is torn down after frame at (0)",
		},
		{
			ID: "L12", Name: "no_end", Must: "at 0 one error; at 1 " + orWhole, wire: noEnd,
			Does: "the stream closes cleanly, at 0 before the stop reason, at 1 right after it",
		},
		{
			ID: "L13", Name: "short_end", Must: orWhole, wire: shortEnd,
			Does: "the last frame, which comes after the stop reason, is cut in half",
		},
		{
			ID: "L14", Name: "twice", Must: orWhole, wire: twice,
			Does: "frame at, or the one that begins the first block, comes twice",
		},
		{
			ID: "L15", Name: "reordered", Must: orWhole + ", blocks in either order", wire: reordered,
			Does: "the last two blocks change places",
		},
		{
			ID: "L16", Name: "pings", Must: oneError, wire: pings,
			Does: "signs of life for wait (180 s) and nothing else, then a clean end",
		},
		{
			ID: "L17", Name: "bad_utf8", Must: "one error, or text that is valid UTF-8", wire: badUTF8,
			Does: "a byte that is no UTF-8 in the first delta",
		},
		{
			ID: "L18", Name: "gzip_bomb", Must: "one error or a bounded reply, in bounded memory", wire: gzipBomb,
			Does: "a compressed stream that grows to size (128 MB), a thousand to one",
		},
		{
			ID: "L19", Name: "flood", Must: "one error or a bounded reply, in bounded memory", wire: flood,
			Does: "a stream of size (100 MB)",
		},
		{
			ID: "L20", Name: "storm", Must: "callers spread out and all get through in the end", wire: storm,
			Does: "429 to everybody for wait (5 min) from the first use of the rule",
		},
		{
			ID: "X1", Name: "error_event", Must: oneError, wire: errorEvent,
			Does: "an error comes inside the stream, after frame at, with status 200",
		},
	}
}
