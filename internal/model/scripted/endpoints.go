package scripted

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

func requestIDHeader(p Provider) string {
	if p == Anthropic {
		return "Request-Id"
	}
	return "X-Request-Id"
}

// refuse sends an error in the provider's shape.
func (m *Model) refuse(w http.ResponseWriter, r *http.Request, p Provider, no *request.Refusal, id string) {
	if id == "" {
		id = "req_" + digest(r.Method, r.URL.Path)[:24]
	}
	out := errorResponse(p, no, id)
	out.header.Set(requestIDHeader(p), id)
	out.send(r.Context(), w)
}

// rateHeaders tell what a key may still do, as each provider does.
func rateHeaders(h http.Header, p Provider, a allowance, now time.Time) {
	limit, remaining := strconv.Itoa(a.limit), strconv.Itoa(a.remaining)
	if p == Anthropic {
		h.Set("Anthropic-Ratelimit-Requests-Limit", limit)
		h.Set("Anthropic-Ratelimit-Requests-Remaining", remaining)
		h.Set("Anthropic-Ratelimit-Requests-Reset", now.Add(a.reset).UTC().Format(time.RFC3339))
		return
	}
	h.Set("X-Ratelimit-Limit-Requests", limit)
	h.Set("X-Ratelimit-Remaining-Requests", remaining)
	h.Set("X-Ratelimit-Reset-Requests", a.reset.Round(time.Millisecond).String())
}

// countTokens is Anthropic's way to know a request's size beforehand.
func (m *Model) countTokens(w http.ResponseWriter, r *http.Request) {
	count := func() (int64, error) {
		if !m.options.Lax {
			if err := m.checkHeaders(r, Anthropic); err != nil {
				return 0, err
			}
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			return 0, refusal(http.StatusRequestEntityTooLarge, "Request exceeds the maximum size")
		}
		q, err := request.ReadAnthropic(body, request.Reading{Lax: m.options.Lax, Counting: true})
		if err != nil {
			return 0, err
		}
		return q.Input, m.knows(q)
	}
	n, err := count()
	if no, ok := errors.AsType[*request.Refusal](err); ok {
		m.refuse(w, r, Anthropic, no, "")
		return
	}
	writeJSON(w, struct {
		InputTokens int64 `json:"input_tokens"`
	}{n})
}

// models lists the models of the script. Both wires have the same path for it.
func (m *Model) models(w http.ResponseWriter, r *http.Request) {
	p := providerOf(r)
	if !m.options.Lax {
		if no, ok := errors.AsType[*request.Refusal](m.checkHeaders(r, p)); ok {
			m.refuse(w, r, p, no, "")
			return
		}
	}
	names := m.script.Models
	if len(names) == 0 {
		names = []string{"scripted"}
	}
	if p == Anthropic {
		writeJSON(w, anthropicModels(names))
		return
	}
	writeJSON(w, openaiModels(names))
}

func anthropicModels(names []string) any {
	type entry struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		DisplayName string `json:"display_name"`
		CreatedAt   string `json:"created_at"`
	}
	type page struct {
		Data    []entry `json:"data"`
		HasMore bool    `json:"has_more"`
		FirstID string  `json:"first_id"`
		LastID  string  `json:"last_id"`
	}
	out := page{FirstID: names[0], LastID: names[len(names)-1]}
	for _, n := range names {
		out.Data = append(out.Data, entry{"model", n, n, "2025-01-01T00:00:00Z"})
	}
	return out
}

func openaiModels(names []string) any {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	type list struct {
		Object string  `json:"object"`
		Data   []entry `json:"data"`
	}
	out := list{Object: "list"}
	for _, n := range names {
		out.Data = append(out.Data, entry{n, "model", openaiCreated, "scripted"})
	}
	return out
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(must(v)) // a client that has left needs no answer
}
