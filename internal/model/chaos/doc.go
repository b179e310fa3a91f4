// Package chaos holds the tests that drive the real adapters against the scripted model while
// everything goes wrong that the reliability plan lists. It has no code of its own.
//
// The laws of every run: a call has one end, a whole reply or one error; nothing partial and no
// arguments that were cut off or malformed can be run; every reply can be sent on to a provider
// that refuses every fault in a transcript; and we never put down less as spent than the provider's
// own meter says. Run it with make test/chaos.
package chaos
