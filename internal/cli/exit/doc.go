// Package exit is how a command ends: the exit codes, and the error that carries one. It imports
// nothing of ours. An error without a code of its own exits with Failed.
package exit
