// Package porttest keeps ports for tests that must know one before something listens there, or
// while nothing does. It is test support and imports nothing of ours.
package porttest

import "testing"

// Hold is a port of 127.0.0.1 that nobody gets who asks for any free one, until the test ends. A
// client that connects while nobody listens is refused, and a program that names the port can
// listen there, once and again. A port that was only looked for and let go may be another's by the
// time it is used.
func Hold(t testing.TB) int {
	t.Helper()
	port, free, err := hold()
	if err != nil {
		t.Fatalf("hold a port: %v", err)
	}
	t.Cleanup(free)
	return port
}
