package admission

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Problem is why a request was not carried out, as RFC 9457 has it.
type Problem struct {
	Type   string `json:"type" doc:"Names the kind of problem." example:"urn:retinue:problem:not_found"`
	Title  string `json:"title" doc:"The kind of problem in words."`
	Status int    `json:"status" doc:"The HTTP status."`
	Code   string `json:"code" doc:"The kind of problem, for programs." example:"not_found"`
	Detail string `json:"detail,omitempty" doc:"What happened this time."`
	Next   string `json:"next,omitempty" doc:"What to do about it."`
	// Errors say what is wrong with which part of the request.
	Errors []*huma.ErrorDetail `json:"errors,omitempty" doc:"What is wrong with which part of the request."`

	// Wait is how long to wait before the same is asked again.
	Wait time.Duration `json:"-"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	if p.Wait <= 0 {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(max(1, int((p.Wait+time.Second-1)/time.Second)))}}
}

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// kinds are the titles of problems by their code, and what to do when nothing better is known.
var kinds = map[string]struct {
	status      int
	title, next string
}{
	"invalid":      {http.StatusUnprocessableEntity, "The request cannot be understood", "see /openapi.json for what it takes"},
	"unauthorised": {http.StatusUnauthorized, "Nobody knows who asks", "send a key as 'Authorization: Bearer KEY', or log in"},
	"forbidden":    {http.StatusForbidden, "Not for you", ""},
	"not_found":    {http.StatusNotFound, "There is no such thing", "check the id; it may have been deleted, or you may not see it"},
	"conflict":     {http.StatusConflict, "It does not fit what is there", "read it again and decide anew"},
	"limit":        {http.StatusTooManyRequests, "Too much at once", "wait as long as Retry-After says, then send the same again"},
	"unavailable":  {http.StatusServiceUnavailable, "Not just now", "wait as long as Retry-After says, then send the same again"},
	"internal":     {http.StatusInternalServerError, "Something is wrong here", "send the same again; if it stays, tell the operator the request id"},
}

// fill adds what the code says.
func (p *Problem) fill() *Problem {
	k := kinds[p.Code]
	if p.Status == 0 {
		p.Status = k.status
	}
	if p.Title = k.title; p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	if p.Next == "" {
		p.Next = k.next
	}
	p.Type = "urn:retinue:problem:" + p.Code
	return p
}

// Unauthorised is the one answer to every credential that is missing, wrong, expired or revoked.
func Unauthorised() error {
	return &Problem{Code: "unauthorised", Detail: "there is no valid credential"}
}

// busyWait is how long to wait when something that is needed cannot be reached.
const busyWait = 2 * time.Second

// ProblemOf makes a problem of any error. An error without a code is internal, and its text stays
// here.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p.fill()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return (&Problem{Code: "unavailable", Detail: "it took too long", Wait: busyWait}).fill()
	}
	own, _ := errors.AsType[*chat.Error](err)
	p := &Problem{}
	switch chat.CodeOf(err) {
	case chat.CodeInvalid:
		p.Code, p.Detail = "invalid", own.Message
	case chat.CodeNotFound:
		p.Code, p.Detail = "not_found", "nothing is known under this id" // the same, whosoever it is
	case chat.CodeConflict:
		p.Code, p.Detail = "conflict", own.Message
	case chat.CodeDenied:
		p.Code, p.Detail = "forbidden", own.Message
	case chat.CodeLimit:
		p.Code, p.Detail, p.Wait = "limit", own.Message, busyWait
	case chat.CodeUnavailable:
		p.Code, p.Detail, p.Wait = "unavailable", own.Message, busyWait
	case chat.CodeInternal:
		p.Code, p.Detail = "internal", "the server met something that it was not made for"
	}
	return p.fill()
}

// codeOf is the code of a problem that huma found.
func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorised"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusConflict:
		return "conflict"
	case http.StatusTooManyRequests:
		return "limit"
	case http.StatusServiceUnavailable:
		return "unavailable"
	}
	if status >= 500 {
		return "internal"
	}
	return "invalid"
}

// Found makes a problem of what huma found wrong with a request.
func Found(status int, message string, errs ...error) huma.StatusError {
	p := &Problem{Status: status, Code: codeOf(status), Detail: message}
	for _, err := range errs {
		detail := &huma.ErrorDetail{Message: "it is not as it should be"}
		if d, ok := err.(huma.ErrorDetailer); ok {
			detail = d.ErrorDetail()
		}
		p.Errors = append(p.Errors, &huma.ErrorDetail{Message: detail.Message, Location: detail.Location})
	}
	return p.fill()
}
