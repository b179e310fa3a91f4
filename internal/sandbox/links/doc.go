// Package links finds the files of a workspace that have a name outside of it as well: a program
// that writes one of them in place writes the other too.
//
// It imports chat. It follows no symbolic link, and bounds how many files it looks at and how many
// mounts it asks for.
package links
