package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/retinue-dev/retinue/wire"
)

// CreateWebhook adds an address that receives events.
func (c *Client) CreateWebhook(ctx context.Context, w wire.NewWebhook) (out wire.Webhook, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("webhooks"), body: w, keyed: true}, &out)
	return out, err
}

// Webhooks are the addresses that are told.
func (c *Client) Webhooks(ctx context.Context) ([]wire.Webhook, error) {
	return items[wire.Webhook](ctx, c, nil, "webhooks")
}

// DeleteWebhook tells an address nothing more.
func (c *Client) DeleteWebhook(ctx context.Context, webhook string) (out wire.Accepted, err error) {
	err = c.call(ctx, request{method: http.MethodDelete, path: at("webhooks", webhook), keyed: true}, &out)
	return out, err
}

// Deliveries are the sent and the pending deliveries of a webhook.
func (c *Client) Deliveries(ctx context.Context, webhook string, o ListOptions) (wire.Deliveries, error) {
	q := url.Values{}
	number(q, "limit", int64(o.Limit))
	text(q, "cursor", o.Cursor)
	return read[wire.Deliveries](ctx, c, q, "webhooks", webhook, "deliveries")
}

// ReplayDelivery sends an event again.
func (c *Client) ReplayDelivery(ctx context.Context, webhook, delivery string) (out wire.Delivery, err error) {
	err = c.call(ctx, request{
		method: http.MethodPost, path: at("webhooks", webhook, "deliveries", delivery, "replay"), keyed: true,
	}, &out)
	return out, err
}
