// Package tiers sorts the suites of this repository into tiers and runs them.
//
// The table .ci/tiers names each suite, which is a target of the Makefile, says with which
// variables each tier runs it, and lists the folders it guards. Three tiers read it: check runs
// before every commit, gate decides whether a change lands, prove runs everything at full size.
// This package reads the table, picks the suites that guard a change, runs them, and writes what
// they showed to docs/proof.md.
//
// It imports the standard library alone, so that it builds in a second.
package tiers
