package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

// Options are the settings of a Model. The zero value is strict and without a limit.
type Options struct {
	// Lax accepts every request that can be understood at all.
	Lax bool
	// Rate is how many requests per second each key may make; zero is no limit.
	Rate float64
	// Hold is called with a rule's name before the first byte of its answer and may delay it, for
	// as long as the client waits; nil delays nothing.
	Hold func(ctx context.Context, rule string)
	// Log gets one line per request; nil is nobody.
	Log *slog.Logger
}

// Model is a script being played: an HTTP handler that speaks both wires.
type Model struct {
	script  *Script
	options Options
	meter   meter
	limits  limiter
	mux     *http.ServeMux

	mu sync.Mutex
	// rules with their uses left, begun with when each was first used, seen with how often each
	// request came.
	rules []*rule
	begun map[string]time.Time
	seen  map[string]int
}

// New gets a script ready to be played.
func New(script *Script, options Options) (*Model, error) {
	if err := script.Check(); err != nil {
		return nil, err
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	m := &Model{
		script: script, options: options, mux: http.NewServeMux(),
		limits: limiter{rate: options.Rate, free: map[string]time.Time{}},
		begun:  map[string]time.Time{}, seen: map[string]int{},
	}
	for i, r := range script.Rules {
		compiled, err := compile(r)
		if err != nil {
			return nil, fmt.Errorf("script %s: rule %d: %w", script.Name, i, err)
		}
		if compiled.Name == "" {
			compiled.Name = "rule " + strconv.Itoa(i+1)
		}
		m.rules = append(m.rules, compiled)
	}
	m.mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) {
		m.generate(w, r, Anthropic)
	})
	m.mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		m.generate(w, r, OpenAI)
	})
	m.mux.HandleFunc("POST /v1/messages/count_tokens", m.countTokens)
	m.mux.HandleFunc("GET /v1/models", m.models)
	m.mux.HandleFunc("GET /_scripted/meter", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, m.Meter())
	})
	m.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		m.refuse(w, r, providerOf(r), refusal(http.StatusNotFound, "Not found: %s %s", r.Method, r.URL.Path), "")
	})
	return m, nil
}

// ServeHTTP implements http.Handler.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Meter is the account up to now.
func (m *Model) Meter() Meter { return m.meter.read() }

// maxBody is the largest request that is read, as for Anthropic.
const maxBody = 32 << 20

// generate answers one request to generate, and enters it into the meter with any outcome.
func (m *Model) generate(w http.ResponseWriter, r *http.Request, p Provider) {
	begun := time.Now()
	a := &Attempt{Provider: p, Key: Fingerprint(keyOf(r)), At: begun}
	m.meter.begin(a)
	defer func() {
		m.meter.end(a, time.Since(begun))
		m.options.Log.Info("request", "provider", string(p), "model", a.Model, "role", a.Role, "turn", a.Turn,
			"rule", a.Rule, "fault", a.Fault, "status", a.Status, "input", a.Billed.Input,
			"output", a.Billed.Output, "took", a.Took.Round(time.Millisecond), "reason", a.Message)
	}()

	x, err := m.prepare(w, r, p, a)
	if err != nil {
		no, ok := errors.AsType[*request.Refusal](err)
		if !ok {
			no = refusal(http.StatusInternalServerError, "%v", err)
		}
		m.meter.update(a, func(a *Attempt) { a.Status, a.Message = no.Status, no.Message })
		m.refuse(w, r, p, no, a.ID)
		return
	}
	if x.response.billed {
		m.meter.bill(a, x.answer.usage)
	}
	if x.response.status == 0 {
		reset(w)
		return
	}
	m.meter.update(a, func(a *Attempt) { a.Status = x.response.status })
	x.response.header.Set(requestIDHeader(p), x.id)
	if m.options.Hold != nil {
		m.options.Hold(r.Context(), a.Rule)
	}
	sent := x.response.send(r.Context(), w)
	m.meter.update(a, func(a *Attempt) { a.Frames = sent })
}

// prepare decides the answer to a request, up to the point of sending.
func (m *Model) prepare(w http.ResponseWriter, r *http.Request, p Provider, a *Attempt) (*exchange, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refusal(http.StatusRequestEntityTooLarge, "Request exceeds the maximum size")
	}
	if err != nil {
		return nil, refusal(http.StatusBadRequest, "The request could not be read")
	}
	name := digest(string(p), string(body))
	attempt := m.note(name)
	m.meter.update(a, func(a *Attempt) { a.ID = "req_" + digest(name, strconv.Itoa(attempt))[:24] })
	if err := m.admit(w, r, p); err != nil {
		return nil, err
	}
	read, err := m.read(body, p)
	if err != nil {
		return nil, err
	}
	q := &ask{Request: read, key: keyOf(r), print: name, attempt: attempt}
	m.meter.update(a, func(a *Attempt) { a.Model, a.Role, a.Turn = q.Model, q.Role, q.Turn })
	c, err := m.choose(q)
	if err != nil {
		return nil, err
	}
	m.meter.update(a, func(a *Attempt) { a.Rule, a.Fault = c.rule, c.reply.Fault.Name })
	fault, _ := faultNamed(c.reply.Fault.Name)
	x := &exchange{ask: q, id: a.ID, age: c.age}
	if x.answer, err = m.script.answerTo(q, c.reply, c.caught, fault); err != nil {
		return nil, err
	}
	x.response = layOut(q, x.answer)
	if fault.wire != nil {
		fault.wire(x, c.reply.Fault)
	}
	return x, nil
}

// note counts how often a request came before.
func (m *Model) note(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.seen[name]
	m.seen[name]++
	return n
}

func (m *Model) read(body []byte, p Provider) (*request.Request, error) {
	var q *request.Request
	var err error
	if p == Anthropic {
		q, err = request.ReadAnthropic(body, request.Reading{Lax: m.options.Lax})
	} else {
		q, err = request.ReadOpenAI(body, request.Reading{Lax: m.options.Lax})
	}
	if err != nil {
		return nil, err
	}
	return q, m.knows(q)
}

func (m *Model) knows(q *request.Request) error {
	if len(m.script.Models) == 0 || slices.Contains(m.script.Models, q.Model) {
		return nil
	}
	if q.Provider == Anthropic {
		return refusal(http.StatusNotFound, "model: %s", q.Model)
	}
	return refusal(http.StatusNotFound, "The model `%s` does not exist or you do not have access to it.", q.Model)
}

// choice is the rule that answers a request.
type choice struct {
	rule   string
	reply  Reply
	caught map[string]string
	// age is how long ago the rule was first used.
	age time.Duration
}

// choose takes the first rule that matches and is not used up.
func (m *Model) choose(q *ask) (choice, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rules {
		if r.left == 0 {
			continue
		}
		caught, ok := r.matches(q)
		if !ok {
			continue
		}
		if r.left > 0 {
			r.left--
		}
		return choice{r.Name, r.Reply, caught, m.age(r.Name)}, nil
	}
	if m.script.Default != nil {
		return choice{"default", *m.script.Default, q.words(), m.age("default")}, nil
	}
	return choice{}, refusal(http.StatusBadRequest, "script %s has no rule for this request: provider %s, "+
		"model %q, role %q, turn %d, attempt %d, %d tool results, tools %s", m.script.Name, q.Provider, q.Model,
		q.Role, q.Turn, q.attempt, len(q.Results), strings.Join(q.Tools, " "))
}

// refusal is a request turned down.
func refusal(status int, format string, args ...any) *request.Refusal {
	return &request.Refusal{Status: status, Message: fmt.Sprintf(format, args...)}
}

// age is how long ago a rule was first used.
func (m *Model) age(name string) time.Duration {
	now := time.Now()
	if _, ok := m.begun[name]; !ok {
		m.begun[name] = now
	}
	return now.Sub(m.begun[name])
}

// admit checks the headers and the rate.
func (m *Model) admit(w http.ResponseWriter, r *http.Request, p Provider) error {
	if !m.options.Lax {
		if err := m.checkHeaders(r, p); err != nil {
			return err
		}
	}
	if m.options.Rate <= 0 {
		return nil
	}
	now := time.Now()
	have := m.limits.take(keyOf(r), now)
	rateHeaders(w.Header(), p, have, now)
	if have.wait == 0 {
		return nil
	}
	retryAfter(w.Header(), have.wait)
	return refusal(http.StatusTooManyRequests, "Rate limit reached: %d requests per second. Please try again in %v.",
		have.limit, have.wait.Round(time.Millisecond))
}

func (m *Model) checkHeaders(r *http.Request, p Provider) error {
	key := keyOf(r)
	if key == "" || (len(m.script.Keys) > 0 && !slices.Contains(m.script.Keys, key)) {
		message := "Incorrect API key provided."
		if p == Anthropic {
			message = "invalid x-api-key"
		}
		return refusal(http.StatusUnauthorized, "%s", message)
	}
	if p == Anthropic {
		switch version := r.Header.Get("Anthropic-Version"); version {
		case "":
			return refusal(http.StatusBadRequest, "anthropic-version: header is required")
		case "2023-06-01", "2023-01-01":
		default:
			return refusal(http.StatusBadRequest, "anthropic-version: %q is not a valid version", version)
		}
	}
	if r.Method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return refusal(http.StatusBadRequest, "Content-Type must be application/json")
		}
	}
	return nil
}

// keyOf is the API key that a request came with.
func keyOf(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return key
}

// providerOf tells the wires apart where they share a path.
func providerOf(r *http.Request) Provider {
	if r.Header.Get("Anthropic-Version") != "" || r.Header.Get("X-Api-Key") != "" {
		return Anthropic
	}
	return OpenAI
}
