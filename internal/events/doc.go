// Package events turns what a journal holds into what the HTTP API says: entries into events, and
// rows and states into resources.
//
// It depends on nothing but what it is given, so that a reader that goes on from anywhere reads the
// same. It imports chat, journal and wire.
package events
