// Package scripted is a model that plays a script: an HTTP server that speaks the APIs of Anthropic
// and OpenAI. It serves the demo, the tests, the benchmarks and the chaos suite, so that they
// exercise the real adapters and the providers' own SDKs.
//
// It is written from the published formats and imports no SDK and nothing of ours: it is their
// judge. The same script and the same requests give the same bytes, in whatever order the requests
// come, unless a rule counts its uses. Names are derived from the request; clocks are read for
// waiting, for the meter and for rate-limit headers only.
//
// A strict server, which is the default, refuses every request that a provider would refuse, in
// that provider's shape. Where providers differ, or are lenient, it takes the stricter reading: two
// messages in a row from the same speaker, an assistant who speaks last, and empty content are
// refused on both wires as far as the wire knows them.
//
// A fault is something that goes wrong on purpose. Faults lists them all; a reply names the one it
// wants. The cost of a fault is counted as a provider would bill it: all generated tokens are paid
// for, even if they did not arrive.
package scripted
