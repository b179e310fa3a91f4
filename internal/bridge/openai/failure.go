package openai

import (
	"encoding/json"
	"net/http"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/chat"
)

// codeNoModel is OpenAI's code for a model that does not exist.
const codeNoModel = "model_not_found"

// failure is an error as OpenAI's clients know it.
type failure struct {
	Error failureBody `json:"error"`
}

type failureBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// failureOf puts a problem into OpenAI's words. The code stays ours.
func failureOf(p *admission.Problem) failure {
	f := failure{failureBody{Message: p.Detail, Code: p.Code}}
	for i, e := range p.Errors {
		if i == 0 && e.Location != "" {
			f.Error.Param = &e.Location
		}
		f.Error.Message += ": " + e.Message
	}
	if p.Next != "" {
		f.Error.Message += "; " + p.Next
	}
	switch {
	case p.Status == http.StatusUnauthorized:
		f.Error.Type = "authentication_error"
	case p.Status == http.StatusForbidden:
		f.Error.Type = "permission_error"
	case p.Status == http.StatusTooManyRequests:
		f.Error.Type = "rate_limit_error"
	case p.Status >= http.StatusInternalServerError:
		f.Error.Type = "server_error"
	default:
		f.Error.Type = "invalid_request_error"
	}
	return f
}

// refuse answers with an error. A request that cannot be understood is a 400 there.
func refuse(w http.ResponseWriter, _ *http.Request, p *admission.Problem) {
	status := p.Status
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	if p.Wait <= 0 {
		// Without a word the clients would send it again by themselves: the same to no avail, or, once
		// something was begun, a second time.
		w.Header().Set("X-Should-Retry", "false")
	}
	send(w, status, failureOf(p))
}

// send answers with JSON.
func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(body) // a client that does not read it has gone
}

// invalid is the fault of one field of a request.
func invalid(field, what, next string) error {
	return &admission.Problem{
		Status: http.StatusBadRequest, Code: "invalid", Detail: field + ": " + what, Next: next,
	}
}

// broken is why a user turn that failed has no answer.
func broken(x *bridge.UserTurn, r bridge.Result) *admission.Problem {
	p := &admission.Problem{
		Status: http.StatusBadGateway, Code: string(r.Kind), Detail: "the run failed (" + string(r.Kind) + ")",
		Next: "see conversation " + x.Conversation,
	}
	if r.Message != "" {
		p.Detail += ": " + r.Message
	}
	switch r.Kind {
	case chat.KindRateLimit:
		p.Status = http.StatusTooManyRequests
	case chat.KindTimedOut:
		p.Status = http.StatusGatewayTimeout
	case chat.KindInvalidRequest, chat.KindContentFilter, chat.KindContextExhausted:
		p.Status = http.StatusBadRequest
	case chat.KindBudgetExceeded:
		p.Status = http.StatusPaymentRequired
	case chat.KindAuth, chat.KindNetwork, chat.KindServerError, chat.KindCancelled, chat.KindMaxIterations, chat.KindSubAgentError,
		chat.KindSpawnFailed, chat.KindNoResult, chat.KindInvalidResult, chat.KindQuestionLimit, chat.KindInternal:
	}
	if p.Code == "" {
		p.Code = string(chat.KindInternal)
	}
	return p
}
