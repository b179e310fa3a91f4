// Package match says what patterns fit: the lines of ignore files, read as git reads them, and
// expressions, written again so that ripgrep finds at least what they match.
//
// It imports the standard library only. It opens no file, and no pattern makes it slow.
package match
