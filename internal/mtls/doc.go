// Package mtls makes the certificates by which the parts of one installation know each other, and
// reads them again when they change. A program that cannot read the folder they lie in can neither
// call the engine nor pretend to be it.
package mtls
