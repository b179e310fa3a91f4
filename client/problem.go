package client

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Problem is why the server did not carry a request out (RFC 9457).
type Problem struct {
	// Type and Code name the kind of problem: Code is one of invalid, unauthorised, forbidden,
	// not_found, conflict, limit, unavailable and internal.
	Type  string `json:"type"`
	Code  string `json:"code"`
	Title string `json:"title"`
	// Status is that of HTTP.
	Status int `json:"status"`
	// Detail describes the problem, and Next says what to do about it.
	Detail string `json:"detail,omitempty"`
	Next   string `json:"next,omitempty"`
	// Errors are the faults of the request, each with its part.
	Errors []ProblemDetail `json:"errors,omitempty"`
	// RetryAfter is how long to wait before the same is sent again.
	RetryAfter time.Duration `json:"-"`
	// Request names the request to the server's operator.
	Request string `json:"-"`
}

// ProblemDetail is the fault of one part of a request.
type ProblemDetail struct {
	Message  string `json:"message,omitempty"`
	Location string `json:"location,omitempty"`
	Value    any    `json:"value,omitempty"`
}

// Error implements error.
func (p *Problem) Error() string {
	text := p.Code + ": " + p.Detail
	for _, e := range p.Errors {
		text += "; " + e.Location + " " + e.Message
	}
	if p.Next != "" {
		text += " (" + p.Next + ")"
	}
	return text
}

// problemOf reads the problem in an answer. Answers of something between here and the server have
// none.
func problemOf(resp *http.Response) *Problem {
	p := &Problem{}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // a missing part of the answer is not shown
	if json.Unmarshal(text, p) != nil || p.Code == "" {
		p = &Problem{Code: "unavailable", Detail: resp.Status}
	}
	p.Status = resp.StatusCode
	p.Request = resp.Header.Get("Request-Id")
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// IsNotFound reports whether an error says that there is no such thing, or none that the key may
// see.
func IsNotFound(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status == http.StatusNotFound
}
