// Package anthropic is the adapter to Anthropic's Messages API and to servers that speak it. It
// imports the port and the provider's own SDK.
//
// It sends a request once, reads nothing from the environment, and gives a reply only when the
// stream said why it stopped.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// Thinking is how a model is told how hard to think.
type Thinking string

// The ways. Older models take a number of tokens, newer ones decide by themselves under an effort.
const (
	ThinkingBudget   Thinking = ""
	ThinkingAdaptive Thinking = "adaptive"
)

// Options say where the provider is and how to speak to it.
type Options struct {
	// Key is the API key; a server of one's own may do without.
	Key string
	// BaseURL is the provider's own when empty.
	BaseURL string
	// HTTP is model.NewHTTPClient when nil.
	HTTP     *http.Client
	Thinking Thinking
}

// Client is a model.Client for one key.
type Client struct {
	messages sdk.MessageService
	thinking Thinking
}

var _ model.Client = (*Client)(nil)

// New makes a client. It fails when the base URL is none.
func New(o Options) (*Client, error) {
	client := o.HTTP
	if client == nil {
		client = model.NewHTTPClient()
	}
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithMaxRetries(0), option.WithHTTPClient(client),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	if o.BaseURL != "" {
		u, err := url.Parse(o.BaseURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, errors.New("new client: the base URL must be http(s)://host[/path]")
		}
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	return &Client{messages: sdk.NewClient(opts...).Messages, thinking: o.Thinking}, nil
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
	stream := c.messages.NewStreaming(x.Context(), c.encode(req), option.WithMiddleware(x.Send))
	defer func() { _ = stream.Close() }()
	d := decoder{x: x, blocks: map[int64]*block{}}
	for x.Going() && stream.Next() {
		d.take(stream.Current())
	}
	return x.End(stream.Err(), explain)
}

// explain reads an error of the provider's by its type, and by its status when it has none.
func explain(err error) *model.Error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return nil
	}
	return model.Refused(kindOf(e), e.Response)
}

func kindOf(e *sdk.Error) chat.ErrorKind {
	switch e.Type() {
	case sdk.ErrorTypeAuthenticationError, sdk.ErrorTypePermissionError, sdk.ErrorTypeBillingError:
		return chat.KindAuth
	case sdk.ErrorTypeRateLimitError:
		return chat.KindRateLimit
	case sdk.ErrorTypeOverloadedError, sdk.ErrorTypeTimeoutError, sdk.ErrorTypeAPIError:
		return chat.KindServerError
	case sdk.ErrorTypeInvalidRequestError, sdk.ErrorTypeNotFoundError:
		if e.StatusCode == http.StatusRequestEntityTooLarge {
			return chat.KindContextExhausted
		}
		return chat.KindInvalidRequest
	}
	if e.StatusCode < http.StatusBadRequest {
		return chat.KindServerError // the stream broke off with an error nobody has told us of
	}
	return model.KindOf(e.StatusCode)
}
