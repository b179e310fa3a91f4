package exit

import "fmt"

// The exit codes of every command. The last three are of run.
const (
	OK        = 0
	Failed    = 1
	Usage     = 2
	Person    = 3
	Limit     = 4
	Cancelled = 130
)

// Error ends a command with a code of its own. With an error there is something to say.
type Error struct {
	Code int
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Misused is an error that the caller made, found after the command began.
func Misused(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}
