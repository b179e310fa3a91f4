package model

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// statusOverloaded is what some providers answer when all their customers together are too many.
const statusOverloaded = 529

// longestWait is the most we let a provider put us off.
const longestWait = time.Hour

// KindOf is the kind of an HTTP status when the body is no more exact. Being overloaded is the
// provider's trouble and not a limit on our key, so 529 is a server error like 503.
func KindOf(status int) chat.ErrorKind {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return chat.KindAuth
	case http.StatusTooManyRequests:
		return chat.KindRateLimit
	case http.StatusRequestEntityTooLarge:
		return chat.KindContextExhausted
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return chat.KindServerError
	}
	if status >= http.StatusInternalServerError {
		return chat.KindServerError
	}
	return chat.KindInvalidRequest
}

// Refused makes the error for a response that carries an error instead of a reply. A stream that
// turns into an error has a response too, with a status of success.
func Refused(kind chat.ErrorKind, res *http.Response) *Error {
	e := &Error{Kind: kind, Message: advice[kind]}
	if res == nil {
		e.Unmetered = true
		return e
	}
	e.Status = res.StatusCode
	e.Unmetered = billed(res.StatusCode)
	e.RetryAfter = retryAfter(res.Header, time.Now())
	e.Message += fmt.Sprintf(" (HTTP %d%s)", res.StatusCode, requestID(res.Header))
	return e
}

// advice says what happened and what to do next. It contains no text of a provider.
var advice = map[chat.ErrorKind]string{
	chat.KindAuth:             "the provider refused the key or account: check the key and the credit",
	chat.KindRateLimit:        "the provider limits how much may be asked: wait and try again",
	chat.KindServerError:      "the provider could not answer: try again later",
	chat.KindInvalidRequest:   "the provider rejected the request: check the model and settings",
	chat.KindContentFilter:    "the provider's filter stopped the request: reword it",
	chat.KindContextExhausted: "the request is longer than the model takes: shorten it",
}

// billed reports whether a provider may charge for a request that it answered like this. A gateway
// that gave up may have had a reply behind it that was made in full.
func billed(status int) bool {
	switch status {
	case http.StatusServiceUnavailable, statusOverloaded:
		return false
	}
	return status < http.StatusMultipleChoices || status >= http.StatusInternalServerError
}

// retryAfter reads how long to wait: milliseconds, seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms, time.Millisecond)
	}
	after := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return bounded(s, time.Second)
	}
	if at, err := http.ParseTime(after); err == nil {
		return bounded(at.Sub(now).Seconds(), time.Second)
	}
	return 0
}

// bounded turns n units into a duration between nothing and the longest wait.
func bounded(n float64, unit time.Duration) time.Duration {
	most := longestWait.Seconds() / unit.Seconds()
	if !(n > 0) { // also values that are not numbers
		return 0
	}
	return time.Duration(min(n, most) * float64(unit))
}

var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// requestID is the provider's name for the exchange, for its support, when it looks like one.
func requestID(h http.Header) string {
	for _, key := range []string{"Request-Id", "X-Request-Id"} {
		if id := h.Get(key); plainID.MatchString(id) {
			return ", request " + id
		}
	}
	return ""
}
