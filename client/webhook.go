package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Webhook is an address that is told what happens.
type Webhook struct {
	ID    string    `json:"id"`
	URL   string    `json:"url"`
	Types []string  `json:"types"`
	By    string    `json:"by"`
	At    time.Time `json:"ts"`
	// Secret signs what is sent. It is there once, when the webhook is made.
	Secret string `json:"secret,omitempty"`
}

// NewWebhook is a webhook to be made. No types means all; without a secret one is made.
type NewWebhook struct {
	URL    string   `json:"url"`
	Types  []string `json:"types,omitempty"`
	Secret string   `json:"secret,omitempty"`
}

// Delivery is an event on its way to a webhook.
type Delivery struct {
	ID           string     `json:"id"`
	Conversation string     `json:"conversation"`
	Seq          int64      `json:"seq"`
	Type         string     `json:"type"`
	Status       string     `json:"status"`
	Attempts     int        `json:"attempts"`
	At           time.Time  `json:"ts"`
	Next         *time.Time `json:"next_attempt,omitempty"`
	Tried        *time.Time `json:"last_attempt,omitempty"`
	Code         int        `json:"code,omitempty"`
	Problem      string     `json:"problem,omitempty"`
}

// Deliveries is a page of the list of deliveries, the newest first. Cursor asks for the next.
type Deliveries struct {
	Items  []Delivery `json:"items"`
	Cursor string     `json:"cursor,omitempty"`
}

// CreateWebhook has an address told what happens.
func (c *Client) CreateWebhook(ctx context.Context, w NewWebhook) (out Webhook, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: at("webhooks"), body: w, keyed: true}, &out)
	return out, err
}

// Webhooks are the addresses that are told.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	return items[Webhook](ctx, c, nil, "webhooks")
}

// DeleteWebhook tells an address nothing more.
func (c *Client) DeleteWebhook(ctx context.Context, webhook string) (out Accepted, err error) {
	err = c.call(ctx, request{method: http.MethodDelete, path: at("webhooks", webhook), keyed: true}, &out)
	return out, err
}

// Deliveries are what was sent to a webhook, and what is still to be sent.
func (c *Client) Deliveries(ctx context.Context, webhook string, o ListOptions) (Deliveries, error) {
	q := url.Values{}
	number(q, "limit", int64(o.Limit))
	text(q, "cursor", o.Cursor)
	return read[Deliveries](ctx, c, q, "webhooks", webhook, "deliveries")
}

// ReplayDelivery sends an event again.
func (c *Client) ReplayDelivery(ctx context.Context, webhook, delivery string) (out Delivery, err error) {
	err = c.call(ctx, request{
		method: http.MethodPost, path: at("webhooks", webhook, "deliveries", delivery, "replay"), keyed: true,
	}, &out)
	return out, err
}
