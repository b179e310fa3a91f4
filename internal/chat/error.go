package chat

import (
	"errors"
	"fmt"
)

// Code classifies an error that a user or a caller can act on.
type Code string

// The codes. An error without one is internal.
const (
	CodeInvalid     Code = "invalid"
	CodeNotFound    Code = "not_found"
	CodeConflict    Code = "conflict"
	CodeDenied      Code = "denied"
	CodeLimit       Code = "limit"
	CodeUnavailable Code = "unavailable"
	CodeInternal    Code = "internal"
)

// Error is made where somebody can act on it; its message says what to do next.
type Error struct {
	Code    Code
	Message string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// CodeOf reads the code out of any error chain. An error without one is internal.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != "" {
		return e.Code
	}
	return CodeInternal
}

// ErrorKind says why a task or a model call failed. It is decided from typed causes, never from
// text.
type ErrorKind string

// The error kinds.
const (
	KindAuth             ErrorKind = "auth"
	KindRateLimit        ErrorKind = "rate_limit"
	KindNetwork          ErrorKind = "network"
	KindServerError      ErrorKind = "server_error"
	KindInvalidRequest   ErrorKind = "invalid_request"
	KindContentFilter    ErrorKind = "content_filter"
	KindContextExhausted ErrorKind = "context_exhausted"
	KindTimedOut         ErrorKind = "timed_out"
	KindCancelled        ErrorKind = "cancelled"
	KindMaxIterations    ErrorKind = "max_iterations"
	KindBudgetExceeded   ErrorKind = "budget_exceeded"
	KindSubAgentError    ErrorKind = "sub_agent_error"
	KindSpawnFailed      ErrorKind = "spawn_failed"
	KindNoResult         ErrorKind = "no_result"
	KindInvalidResult    ErrorKind = "invalid_result"
	KindQuestionLimit    ErrorKind = "question_limit"
	KindInternal         ErrorKind = "internal"
)

// Retryable reports whether the same model request may be sent again.
func (k ErrorKind) Retryable() bool {
	switch k {
	case KindRateLimit, KindNetwork, KindServerError, KindNoResult:
		return true
	case KindAuth, KindInvalidRequest, KindContentFilter, KindContextExhausted, KindTimedOut,
		KindCancelled, KindMaxIterations, KindBudgetExceeded, KindSubAgentError, KindSpawnFailed,
		KindInvalidResult, KindQuestionLimit, KindInternal:
		return false
	}
	return false
}

// Status is the terminal status that a failure of this kind shows as.
func (k ErrorKind) Status() Status {
	if k == KindCancelled {
		return StatusCancelled
	}
	if k == KindTimedOut {
		return StatusTimedOut
	}
	return StatusFailed
}
