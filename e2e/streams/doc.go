// Package streams compares open streams of running servers with the journal, while connections are
// cut, readers are slow and servers are killed, and measures what a stream costs. It has tests
// only, which may import any package.
package streams
