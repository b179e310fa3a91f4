// Package chaos holds the tests that drive the real adapters against the scripted model while
// everything goes wrong that the reliability plan lists. It has no code of its own.
//
// What must hold in every run: a call has one end, a whole reply or one error; nothing partial and
// no arguments that were cut off or malformed can be run; whatever comes back can be sent on to a
// provider that refuses every fault in a transcript; and what we put down as spent is never less
// than what the provider's own meter says. Run it with make test/chaos.
package chaos
