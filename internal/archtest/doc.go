// Package archtest keeps the shape of this repository true.
//
// It parses the source tree and checks six things as tests: who may import whom (the table in
// rules.go), that the packages the core is made of hold no goroutine, channel, clock-like state or
// dependence on map order (pure.go), that a heavy folder stays a module of its own, that no test
// compares time with a bound by itself (clocks.go, and webclocks.go for the web app), that every
// module asks for a Go without a hole that we know of (floor.go), and that docs/architecture.md
// lists exactly the packages that exist. A rule may speak of a package that is not written yet: it
// matches nothing until the day it matters.
//
// Sizes, wide comments, retired names and names that say nothing are judged (judge.go, printed by
// make report): what is over a bound is a finding unless it has a reason (exceptions.go). A package
// that is too large fails the tests here; the rest fails make report.
//
// It imports nothing of ours, and starts no process.
package archtest
