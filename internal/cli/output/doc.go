// Package output is the writing of all commands: lines, columns and colours for people, JSON for
// programs, amounts in few characters. It imports progress, for what something cost. It promises
// that colour is only where somebody looks, and that nothing of it decides anything.
package output
