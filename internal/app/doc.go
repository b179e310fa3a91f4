// Package app wires the parts: it builds them from settings, starts them and stops them. A node is
// a process's share in the work, a front is a server that listens; beside them is what an operator
// does to an installation without either.
//
// It may import everything but the commands and what runs on one machine. It promises that commands
// build an app and an app does not know which command built it, and that whatever was opened is
// closed in reverse order.
package app
