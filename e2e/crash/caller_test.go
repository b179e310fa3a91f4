//go:build services

package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
)

// answerWithin is how long a server may take to answer before it is asked again.
const answerWithin = 10 * time.Second

// caller is a program that talks to the servers over HTTP. It knows two things about them: any of
// them will do, and the same key is the same command. Each of their answers is checked against
// their document.
type caller struct {
	bases    []string
	token    string
	client   *http.Client
	contract *apitest.Contract
	// told is how many answers it has told of.
	told atomic.Int64
}

// newCaller makes a caller that tells of answers which are not as the document promises.
func (p part) newCaller(broken func(error)) (*caller, error) {
	document, err := os.ReadFile(p.document())
	if err != nil {
		return nil, err
	}
	contract, err := apitest.NewContract(document)
	if err != nil {
		return nil, err
	}
	return &caller{bases: p.Servers, token: p.Token, contract: contract, client: &http.Client{
		Transport: contract.Watch(&http.Transport{MaxIdleConnsPerHost: 32}, broken),
	}}, nil
}

// untold is how many answers were checked against the document since it was last asked for.
func (c *caller) untold() int64 {
	all := int64(c.contract.Counts().Answers)
	return all - c.told.Swap(all)
}

// refusal is an answer that asking again will not change.
type refusal struct {
	Status int
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.Status, r.Code, r.Detail) }

// ambiguous is the end of a request that was sent and not answered: its outcome is unknown.
type ambiguous struct{ error }

// busy is an answer that says to ask again, after a time.
type busy struct {
	Status int
	Wait   time.Duration
}

func (b *busy) Error() string { return fmt.Sprintf("answered %d", b.Status) }

// once sends a request to one of the servers and returns the whole answer.
func (c *caller) once(ctx context.Context, method, path, key string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) },
	})
	text, err := c.exchange(ctx, method, path, key, body)
	if r, b := new(*refusal), new(*busy); err != nil && !errors.As(err, r) && !errors.As(err, b) && sent.Load() {
		return nil, ambiguous{err}
	}
	return text, err
}

func (c *caller) exchange(ctx context.Context, method, path, key string, body any) ([]byte, error) {
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return text, judged(answer, text)
}

// judged makes an error of an answer that is not a success.
func judged(answer *http.Response, text []byte) error {
	switch {
	case answer.StatusCode < 300:
		return nil
	case answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return &busy{Status: answer.StatusCode, Wait: time.Duration(seconds) * time.Second}
	}
	refused := &refusal{Status: answer.StatusCode}
	_ = json.Unmarshal(text, refused)
	return refused
}

// request makes a request to any of the servers. Without GetBody nothing sends it again behind the
// caller's back.
func (c *caller) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.bases[rand.IntN(len(c.bases))]+path, in)
	if err != nil {
		return nil, err
	}
	r.GetBody = nil
	r.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// persist sends a request until it is answered or refused, or ctx is over. It tells of each error
// on the way.
func (c *caller) persist(ctx context.Context, method, path, key string, body any, told func(error)) ([]byte, error) {
	for {
		text, err := c.once(ctx, method, path, key, body)
		if r := new(*refusal); err == nil || errors.As(err, r) || ctx.Err() != nil {
			return text, err
		}
		told(err)
		pause := 20*time.Millisecond + rand.N(150*time.Millisecond)
		if b := new(*busy); errors.As(err, b) {
			pause = max(pause, (*b).Wait)
		}
		wait(ctx, pause)
	}
}

// read gets something and decodes it.
func (c *caller) read(ctx context.Context, path string, out any) error {
	text, err := c.persist(ctx, http.MethodGet, path, "", nil, func(error) {})
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// request is a job as a server takes it.
func (j job) request() (path string, body map[string]any) {
	base := "/v1/conversations/" + j.Conv
	switch j.Do {
	case "open":
		body := map[string]any{"title": j.Text}
		if j.Of != "" {
			body["workspace"] = j.Of
		}
		return "/v1/conversations", body
	case "cancel":
		return base + "/cancel", map[string]any{}
	case "decide":
		return base + "/approvals/" + j.Of + "/decision", map[string]any{"allow": true, "hash": j.Text}
	case "answer":
		return base + "/messages", map[string]any{"text": j.Text, "in_reply_to": j.Of}
	}
	return base + "/messages", map[string]any{"text": j.Text}
}

// call does jobs from its standard input over HTTP, all at once, each until it is answered. One in
// four is sent again although it was answered: the answer must stay the same.
func (p part) call() error {
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	c, err := p.newCaller(func(err error) { say("wrong %s", flat(err)) })
	if err != nil {
		return err
	}
	say("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var j job
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			return err
		}
		go c.do(j, say)
	}
	return lines.Err()
}

// do does one job and says how it went.
func (c *caller) do(j job, say func(string, ...any)) {
	path, body := j.request()
	told := func(err error) {
		kind := "error"
		if a := new(ambiguous); errors.As(err, a) {
			kind = "ambiguous"
		}
		say("%s %s %s", kind, j.ID, flat(err))
	}
	ask := func() (string, error) {
		text, err := c.persist(context.Background(), http.MethodPost, path, j.ID, body, told)
		var made struct{ ID string }
		if err == nil {
			err = json.Unmarshal(text, &made)
		}
		return made.ID, err
	}
	id, err := ask()
	if err == nil && rand.IntN(4) == 0 {
		again, err := ask()
		if err != nil || again != id {
			say("wrong %s was answered %s, and then %s %v", j.ID, id, again, err)
		}
	}
	if r := new(*refusal); errors.As(err, r) && (*r).Status == http.StatusConflict && j.Do == "cancel" {
		err = nil // it had ended by itself
	}
	if err != nil {
		say("wrong %s %s %v", j.ID, j.Do, err)
	}
	say("checked %d", c.untold())
	say("acked %s %s", j.ID, id)
}

// flat is an error in one line.
func flat(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }
