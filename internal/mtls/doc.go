// Package mtls makes the certificates by which the programs of one installation recognise each
// other, and reads them again when they change. A program that cannot read their folder can neither
// call the engine nor pretend to be it.
package mtls
