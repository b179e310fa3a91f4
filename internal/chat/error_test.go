package chat

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// TestEveryKindSaysWhetherToRetry lists every error kind with its word, whether the same request
// may be sent again, and the status that a task which failed of it shows.
//
//
func TestEveryKindSaysWhetherToRetry(t *testing.T) {
	cases := []struct {
		kind      ErrorKind
		word      string
		retryable bool
		status    Status
	}{
		{KindAuth, "auth", false, StatusFailed},
		{KindRateLimit, "rate_limit", true, StatusFailed},
		{KindNetwork, "network", true, StatusFailed},
		{KindServerError, "server_error", true, StatusFailed},
		{KindInvalidRequest, "invalid_request", false, StatusFailed},
		{KindContentFilter, "content_filter", false, StatusFailed},
		{KindContextExhausted, "context_exhausted", false, StatusFailed},
		{KindTimedOut, "timed_out", false, StatusTimedOut},
		{KindCancelled, "cancelled", false, StatusCancelled},
		{KindMaxIterations, "max_iterations", false, StatusFailed},
		{KindBudgetExceeded, "budget_exceeded", false, StatusFailed},
		{KindSubAgentError, "sub_agent_error", false, StatusFailed},
		{KindSpawnFailed, "spawn_failed", false, StatusFailed},
		{KindNoResult, "no_result", true, StatusFailed},
		{KindInvalidResult, "invalid_result", false, StatusFailed},
		{KindQuestionLimit, "question_limit", false, StatusFailed},
		{KindInternal, "internal", false, StatusFailed},
		{"no such kind", "no such kind", false, StatusFailed},
	}
	var known []ErrorKind
	for _, c := range cases[:len(cases)-1] {
		known = append(known, c.kind)
	}
	wantEvery(t, "ErrorKind", known)
	for _, c := range cases {
		if string(c.kind) != c.word {
			t.Errorf("the word is %q, want %q", c.kind, c.word)
		}
		if got := c.kind.Retryable(); got != c.retryable {
			t.Errorf("%s: retryable is %t, want %t", c.kind, got, c.retryable)
		}
		if got := c.kind.Status(); got != c.status || !got.Terminal() {
			t.Errorf("%s: status is %s, want %s and terminal", c.kind, got, c.status)
		}
	}
}

func TestCodeSurvivesWrapping(t *testing.T) {
	cases := map[Code]string{
		CodeInvalid:     "invalid",
		CodeNotFound:    "not_found",
		CodeConflict:    "conflict",
		CodeDenied:      "denied",
		CodeLimit:       "limit",
		CodeUnavailable: "unavailable",
		CodeInternal:    "internal",
	}
	var known []Code
	for code, word := range cases {
		known = append(known, code)
		bare := &Error{Code: code, Message: "say it again"}
		if got, want := bare.Error(), word+": say it again"; got != want {
			t.Errorf("message is %q, want %q", got, want)
		}
		wrapped := fmt.Errorf("append row: %w", fmt.Errorf("read row: %w", bare))
		joined := errors.Join(io.EOF, wrapped)
		for _, err := range []error{bare, wrapped, joined} {
			if got := CodeOf(err); got != code {
				t.Errorf("code of %q is %s, want %s", err, got, code)
			}
		}
	}
	wantEvery(t, "Code", known)
}

func TestAnErrorWithoutACodeIsInternal(t *testing.T) {
	// The second only reads like an error with a code: text is never matched.
	for _, err := range []error{io.EOF, errors.New("denied: go away"), fmt.Errorf("read: %w", io.EOF)} {
		if got := CodeOf(err); got != CodeInternal {
			t.Errorf("code of %q is %s, want %s", err, got, CodeInternal)
		}
	}
}
