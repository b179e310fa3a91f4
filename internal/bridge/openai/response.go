package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/chat"
)

// responsePrefix begins the ids of responses; the name of a user turn follows.
const responsePrefix = "resp_"

type responseRequest struct {
	shared
	Input        input        `json:"input"`
	Instructions string       `json:"instructions"`
	Previous     string       `json:"previous_response_id"`
	Conversation conversation `json:"conversation"`
	Background   bool         `json:"background"`
	Text         struct {
		Format struct {
			Type string `json:"type"`
		} `json:"format"`
	} `json:"text"`
}

// input is a text, or a list of messages.
type input []talker

// UnmarshalJSON implements json.Unmarshaler.
func (i *input) UnmarshalJSON(data []byte) error {
	var text content
	if json.Unmarshal(data, (*string)(&text)) == nil {
		*i = input{{Role: "user", Content: text}}
		return nil
	}
	var kinds []struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &kinds); err != nil {
		return err
	}
	for _, k := range kinds {
		if k.Type != "" && k.Type != "message" {
			return invalid("input", "an item of type "+k.Type+" cannot be taken", "send messages")
		}
	}
	return json.Unmarshal(data, (*[]talker)(i))
}

// conversation is an id, or an object that has one.
type conversation string

// UnmarshalJSON implements json.Unmarshaler.
func (c *conversation) UnmarshalJSON(data []byte) error {
	var object struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(data, (*string)(c)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &object)
	*c = conversation(object.ID)
	return err
}

// place is the conversation that a request continues, empty if it begins one.
func (q responseRequest) place(r *http.Request) (string, error) {
	if q.Previous == "" {
		if q.Conversation != "" {
			return string(q.Conversation), nil
		}
		return named(r, q.shared), nil
	}
	name, err := bridge.ParseName(strings.TrimPrefix(q.Previous, responsePrefix))
	return name.Conversation, err
}

func (q responseRequest) check() error {
	if f := q.Text.Format.Type; f != "" && f != "text" {
		return invalid("text.format", "answers are text", "leave it out, and say in words what you want")
	}
	if q.Background && q.Stream {
		return invalid("background", "a streamed response cannot run in the background", "leave one of background and stream out")
	}
	return q.shared.check()
}

// response is an answer of the Responses API.
type response struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	CreatedAt         int64             `json:"created_at"`
	Status            string            `json:"status"`
	Background        bool              `json:"background"`
	Error             *responseFailure  `json:"error"`
	IncompleteDetails *incomplete       `json:"incomplete_details"`
	Instructions      *string           `json:"instructions"`
	MaxOutputTokens   *int64            `json:"max_output_tokens"`
	Model             string            `json:"model"`
	Output            []item            `json:"output"`
	ParallelToolCalls bool              `json:"parallel_tool_calls"`
	Previous          *string           `json:"previous_response_id"`
	Temperature       *float64          `json:"temperature"`
	TopP              *float64          `json:"top_p"`
	ToolChoice        string            `json:"tool_choice"`
	Tools             []struct{}        `json:"tools"`
	Usage             *spent            `json:"usage"`
	Metadata          map[string]string `json:"metadata"`
	Retinue           *extension        `json:"retinue,omitempty"`
}

type responseFailure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// item is one message of the orchestrator.
type item struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []part `json:"content"`
}

type part struct {
	Type        string     `json:"type"`
	Text        string     `json:"text"`
	Annotations []struct{} `json:"annotations"`
}

func partOf(text string) part {
	return part{Type: "output_text", Text: text, Annotations: []struct{}{}}
}

func itemOf(x *bridge.UserTurn, id, text string) item {
	return item{Type: "message", ID: itemID(x, id), Status: "completed", Role: "assistant", Content: []part{partOf(text)}}
}

func itemID(x *bridge.UserTurn, id string) string { return "msg_" + x.Message + "." + id }

type spent struct {
	Input   int64 `json:"input_tokens"`
	InputOf struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output   int64 `json:"output_tokens"`
	OutputOf struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int64 `json:"total_tokens"`
}

func spentOf(u chat.Usage) *spent {
	s := &spent{Input: u.Input, Output: u.Output, Total: u.Input + u.Output}
	s.InputOf.Cached, s.OutputOf.Reasoning = u.CacheRead, u.Reasoning
	return s
}

// responseOf is a user turn as a response, without its result.
func responseOf(x *bridge.UserTurn, q responseRequest) response {
	out := response{
		ID: responsePrefix + x.String(), Object: "response", CreatedAt: x.At.Unix(), Status: "in_progress", Background: q.Background,
		Model: q.Model, Output: []item{}, ToolChoice: "none", Tools: []struct{}{}, Metadata: q.Metadata,
		Retinue: extend(x, bridge.StateRuns),
	}
	if q.Previous != "" {
		out.Previous = &q.Previous
	}
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	return out
}

// askID names the item that puts what waits into words.
const askID = "ask"

// fill adds the result of a user turn.
func (p response) fill(x *bridge.UserTurn, r bridge.Result) response {
	for _, t := range r.Texts {
		p.Output = append(p.Output, itemOf(x, t.ID, t.Text))
	}
	p.Usage, p.Retinue = spentOf(r.Usage), summary(x, r)
	switch r.State {
	case bridge.StateRuns:
		p.Status = "in_progress"
	case bridge.StateWaits:
		p.Status = "completed"
		p.Output = append(p.Output, itemOf(x, askID, bridge.AskWords(x.Asks(r.Pending))))
	case bridge.StateDone:
		p.Status = "completed"
		if r.Cut {
			p.Status, p.IncompleteDetails = "incomplete", &incomplete{Reason: "max_output_tokens"}
		}
	case bridge.StateFailed:
		f := failureOf(broken(x, r)).Error
		p.Status, p.Error = "failed", &responseFailure{Code: "server_error", Message: f.Message}
		if r.Kind == chat.KindRateLimit {
			p.Error.Code = "rate_limit_exceeded"
		}
	case bridge.StateCancelled:
		p.Status = "cancelled"
	}
	return p
}

func (w routes) respond(rw http.ResponseWriter, r *http.Request) {
	x, q, err := w.responseUserTurn(rw, r)
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	head := responseOf(x, q)
	switch {
	case q.Stream:
		w.responseStream(rw, r, x, head)
	case q.Background:
		rw.Header().Set(ConversationHeader, x.Conversation)
		send(rw, http.StatusOK, head)
	default:
		w.answer(rw, r, x, head)
	}
}

// answer waits for the result of a user turn.
func (w routes) answer(rw http.ResponseWriter, r *http.Request, x *bridge.UserTurn, head response) {
	out, err := bridge.NewPatient(rw)
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	rw.Header().Set(ConversationHeader, x.Conversation)
	result, err := w.watch(r, x, quiet)
	if err != nil {
		if !errors.Is(err, errGone) {
			w.Server.Guard().Refuse(out, r, err)
		}
		return
	}
	send(out, http.StatusOK, head.fill(x, result))
}

func (w routes) responseUserTurn(rw http.ResponseWriter, r *http.Request) (*bridge.UserTurn, responseRequest, error) {
	var q responseRequest
	if err := read(rw, r, &q); err != nil {
		return nil, q, err
	}
	if err := q.check(); err != nil {
		return nil, q, err
	}
	place, err := q.place(r)
	if err != nil {
		return nil, q, err
	}
	list := []talker(q.Input)
	if q.Instructions != "" {
		list = append([]talker{{Role: "system", Content: content(q.Instructions)}}, list...)
	}
	text, err := say(list, place)
	if err != nil {
		return nil, q, err
	}
	x, err := w.post(r, q.shared, place, text)
	return x, q, err
}

// found is the user turn that the address of a request names.
func (w routes) found(r *http.Request) (*bridge.UserTurn, error) {
	name, err := bridge.ParseName(strings.TrimPrefix(r.PathValue("response"), responsePrefix))
	if err != nil {
		return nil, err
	}
	return w.Find(r.Context(), name)
}

func (w routes) retrieve(rw http.ResponseWriter, r *http.Request) {
	x, err := w.found(r)
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	head := responseOf(x, responseRequest{shared: shared{Model: family}})
	if r.URL.Query().Get("stream") == "true" {
		w.responseStream(rw, r, x, head)
		return
	}
	result, err := x.Look(r.Context())
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	send(rw, http.StatusOK, head.fill(x, result))
}

// stopTime is how long a client waits to see that a cancelled response has stopped.
const stopTime = 10 * time.Second

func (w routes) cancel(rw http.ResponseWriter, r *http.Request) {
	err := bridge.Allowed(r.Context()) // a caller who may not read must not learn what exists
	var x *bridge.UserTurn
	if err == nil {
		x, err = w.found(r)
	}
	if err == nil {
		var k string
		if k, err = key(r); err == nil {
			err = w.Cancel(r.Context(), x, k)
		}
	}
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	out, err := bridge.NewPatient(rw)
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), stopTime)
	defer stop()
	result, _ := x.Watch(ctx, quiet) // the text so far is enough
	send(out, http.StatusOK, responseOf(x, responseRequest{shared: shared{Model: family}}).fill(x, result))
}
