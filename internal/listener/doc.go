// Package listener has the listeners of a server: its address, the socket of the same user, and the
// port on which it tells how it is. It bounds every connection before anything is read.
//
// It may import the settings, identity and telemetry. It promises that a server without logins is
// reached from this machine only, that the socket takes nobody but the user that the process runs
// as, as the kernel knows it, and that no page of a browser reads the port for health.
package listener
