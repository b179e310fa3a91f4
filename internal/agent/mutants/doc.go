// Package mutants breaks the core on purpose, one way at a time, and shows that the tests notice. A
// mutant is a piece of the core's source with its replacement; the go command gets the changed file
// as an overlay, so that nothing in the tree is touched.
//
// It is test support: nothing that ships may import it.
package mutants
