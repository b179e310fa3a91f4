package wire

import "time"

// Webhook is an address that receives events.
type Webhook struct {
	ID    string    `json:"id"`
	URL   string    `json:"url"`
	Types []string  `json:"types" doc:"The events that it is told of; empty means all that webhooks can be told of."`
	By    string    `json:"by"`
	At    time.Time `json:"ts"`
}

// Webhooks is all webhooks of a tenant.
type Webhooks struct {
	Items []Webhook `json:"items" doc:"In the order in which they came into being."`
}

// MadeWebhook is a webhook with its secret.
type MadeWebhook struct {
	Webhook
	Secret string `json:"secret" doc:"Signs what is sent, as the Standard Webhooks have it. It is shown here only."`
}

// NewWebhook is a webhook to be made.
type NewWebhook struct {
	URL    string   `json:"url" minLength:"10" maxLength:"2000" doc:"Where events are posted to. It is public and begins with https."`
	Types  []string `json:"types,omitempty" maxItems:"20" doc:"The events to be told of; none means all."`
	Secret string   `json:"secret,omitempty" maxLength:"100" doc:"whsec_ and base64; one is made if there is none."`
}

// Delivery is an event on its way to a webhook.
type Delivery struct {
	ID           string     `json:"id" doc:"The header webhook-id. It is the same however often the event is sent."`
	Conversation string     `json:"conversation"`
	Seq          int64      `json:"seq" doc:"The event's place in the conversation."`
	Type         string     `json:"type"`
	Status       string     `json:"status" enum:"pending,delivered,failed,gone" doc:"Gone means that the conversation was deleted before."`
	Attempts     int        `json:"attempts"`
	At           time.Time  `json:"ts"`
	Next         *time.Time `json:"next_attempt,omitempty"`
	Tried        *time.Time `json:"last_attempt,omitempty"`
	Code         int        `json:"code,omitempty" doc:"The HTTP status of the last answer."`
	Problem      string     `json:"problem,omitempty" doc:"What was wrong with the last attempt."`
}

// Deliveries is a part of the list of deliveries.
type Deliveries struct {
	Items  []Delivery `json:"items" doc:"The newest first."`
	Cursor string     `json:"cursor,omitempty" doc:"Ask with this for what came before; absent when nothing did."`
}
