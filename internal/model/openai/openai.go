// Package openai is the adapter to Chat Completions: OpenAI itself and every server that speaks its
// protocol. It imports the port and OpenAI's own SDK.
//
// It sends a request once, reads nothing from the environment, and gives a reply only when the
// stream said why it stopped.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1/"

// Options say where the provider is and how to speak to it.
type Options struct {
	// Key is the API key; a server of one's own may do without.
	Key string
	// BaseURL is DefaultBaseURL when empty. It includes the version, as in http://host:8000/v1.
	BaseURL string
	// HTTP is model.NewHTTPClient when nil.
	HTTP *http.Client
	// OldLimit sends max_tokens instead of max_completion_tokens, for servers that know only that.
	OldLimit bool
}

// Client is a model.Client for one key.
type Client struct {
	sdk      sdk.Client
	oldLimit bool
}

var _ model.Client = (*Client)(nil)

// New makes a client. It fails when the base URL is none.
//
// The SDK's own constructor would read keys and headers from the environment, so the client is put
// together here.
func New(o Options) (*Client, error) {
	client, base := o.HTTP, o.BaseURL
	if client == nil {
		client = model.NewHTTPClient()
	}
	if base == "" {
		base = DefaultBaseURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("new client: the base URL must be http(s)://host[/path]")
	}
	opts := []option.RequestOption{
		option.WithBaseURL(base), option.WithMaxRetries(0), option.WithHTTPClient(client),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	return &Client{sdk: sdk.Client{Options: opts}, oldLimit: o.OldLimit}, nil
}

// Generate implements model.Client.
func (c *Client) Generate(
	ctx context.Context, req model.Request, told func(model.Delta),
) (model.Reply, error) {
	if err := req.Check(); err != nil {
		return model.Reply{}, err
	}
	x := model.Begin(ctx, req, told)
	defer x.Close()
	var res *http.Response
	err := c.sdk.Post(x.Context(), "chat/completions", c.encode(req), &res,
		option.WithJSONSet("stream", true), option.WithMiddleware(x.Send))
	if err != nil {
		return x.End(err, explain)
	}
	defer func() { _ = res.Body.Close() }()
	return x.End(read(x, res), explain)
}

// read follows the stream to its end. The SDK's own loop would take "error": null, which servers
// send with every chunk, for an error.
func read(x *model.Exchange, res *http.Response) error {
	d := decoder{x: x}
	done := false
	events := ssestream.NewDecoder(res)
	for x.Going() && events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if bytes.Equal(data, []byte("[DONE]")) {
			done = true
			x.Linger()
		}
		if done {
			continue
		}
		if fault := faultIn(data); fault != nil {
			return &streamError{fault: *fault, res: res}
		}
		var chunk sdk.ChatCompletionChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return err
		}
		d.take(chunk)
	}
	return events.Err()
}

// streamError is an error that came in place of a chunk.
type streamError struct {
	fault fault
	res   *http.Response
}

// Error implements error.
func (e *streamError) Error() string { return "the provider broke the stream off with an error" }

// fault is what we read of the provider's errors. The code is a word, or a number that stands for
// an HTTP status.
type fault struct {
	Code json.RawMessage `json:"code"`
	Type string          `json:"type"`
}

// faultIn finds an error in a chunk.
func faultIn(data []byte) *fault {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return nil
	}
	var chunk struct {
		Error json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(data, &chunk)
	if err != nil || len(chunk.Error) == 0 || bytes.Equal(chunk.Error, []byte("null")) {
		return nil
	}
	f := readFault(chunk.Error)
	return &f
}

func readFault(raw []byte) fault {
	var f fault
	if json.Unmarshal(raw, &f) != nil {
		return fault{}
	}
	return f
}

// explain reads an error of the provider's by its code, then its type, then its status.
func explain(err error) *model.Error {
	if e, ok := errors.AsType[*streamError](err); ok {
		return model.Refused(e.fault.kind(http.StatusInternalServerError), e.res)
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		return model.Refused(readFault([]byte(e.RawJSON())).kind(e.StatusCode), e.Response)
	}
	return nil
}

func (f fault) kind(status int) chat.ErrorKind {
	var code string
	if json.Unmarshal(f.Code, &code) != nil {
		var number int
		if json.Unmarshal(f.Code, &number) == nil && number >= http.StatusBadRequest {
			status = number
		}
	}
	for _, word := range []string{code, f.Type} {
		if kind, ok := words[word]; ok {
			return kind
		}
	}
	return model.KindOf(status)
}

// words are the codes and types that say more than a status.
var words = map[string]chat.ErrorKind{
	"account_deactivated":        chat.KindAuth,
	"billing_hard_limit_reached": chat.KindAuth,
	"billing_not_active":         chat.KindAuth,
	"insufficient_quota":         chat.KindAuth,
	"invalid_api_key":            chat.KindAuth,
	"content_filter":             chat.KindContentFilter,
	"content_policy_violation":   chat.KindContentFilter,
	"context_length_exceeded":    chat.KindContextExhausted,
	"exceed_context_size_error":  chat.KindContextExhausted,
	"string_above_max_length":    chat.KindContextExhausted,
	"rate_limit_exceeded":        chat.KindRateLimit,
	"server_error":               chat.KindServerError,
}
