// Package events translates the journal for the HTTP API: entries into events, and rows and states
// into resources.
//
// It depends on its arguments alone, so that a reader that continues from anywhere reads the same.
// It imports chat, journal and wire.
package events
