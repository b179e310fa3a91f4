package openai

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/retinue-dev/retinue/internal/bridge"
)

// errGone means that the client takes nothing any more.
var errGone = errors.New("the client is gone")

// stream is an answer that is sent in pieces.
type stream struct{ out *bridge.Patient }

// open begins an answer in pieces.
func open(w http.ResponseWriter, x *bridge.UserTurn) (stream, error) {
	out, err := bridge.NewPatient(w)
	if err != nil {
		return stream{}, err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies that would hold it back
	h.Set(ConversationHeader, x.Conversation)
	w.WriteHeader(http.StatusOK)
	return stream{out: out}, nil
}

// event sends one piece. Chat Completions has no names for them.
func (s stream) event(name string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	text := "data: " + string(data) + "\n\n"
	if name != "" {
		text = "event: " + name + "\n" + text
	}
	return s.write(text)
}

// beat shows that the stream is alive.
func (s stream) beat() error { return s.write(": alive\n\n") }

func (s stream) write(text string) error {
	if _, err := s.out.Write([]byte(text)); err != nil {
		return errors.Join(errGone, err)
	}
	s.out.Flush()
	return nil
}

// problem makes a problem of what ended a stream, in OpenAI's words.
func (w routes) problem(r *http.Request, err error) failure {
	return failureOf(w.Server.Guard().Explain(r.Context(), err))
}
