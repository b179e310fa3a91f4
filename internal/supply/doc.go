// Package supply knows the parts of the shipped programs: the Go modules linked into them and the
// npm packages bundled into their pages.
//
// It checks the licence of each part against a list of those allowed and writes them down in
// NOTICE, writes a software bill of materials per program, and looks parts up in a stored copy of
// Go's vulnerability database. It works offline: it reads the module cache, node_modules, built
// programs and that copy, and runs go, git and govulncheck. It imports nothing of ours.
package supply
