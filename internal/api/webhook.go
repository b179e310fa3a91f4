package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/webhook"
)

// Webhooks is where webhooks are kept.
type Webhooks interface {
	webhook.Book
	// Allowed complains about an address that nothing may be sent to.
	Allowed(url string) error
}

// hookTypes are the events that webhooks are told of: tasks and turns that ended, and what people are
// asked.
var hookTypes = []EventType{
	EventDone, EventFailed, EventCancelled, EventTurnDone, EventTurnFailed, EventTurnCancelled, EventAsked, EventAnswered,
	EventWanted, EventDecided, EventResolved, EventExpired,
}

// WebhookEvent is the event of an entry as webhooks are sent it: the same that streams have. False if
// webhooks are not told of it.
func WebhookEvent(conversation string, entry journal.Entry) (webhook.Event, bool) {
	e, ok := eventOf(conversation, entry)
	if !ok || !slices.Contains(hookTypes, e.Type) {
		return webhook.Event{}, false
	}
	body, err := json.Marshal(e)
	return webhook.Event{Type: string(e.Type), Seq: e.Seq, At: e.At, Body: body}, err == nil
}

// Webhook is an address that is told what happens.
type Webhook struct {
	ID    string    `json:"id"`
	URL   string    `json:"url"`
	Types []string  `json:"types" doc:"The events that it is told of; empty means all that webhooks can be told of."`
	By    string    `json:"by"`
	At    time.Time `json:"ts"`
}

// WebhookList is all webhooks of a tenant.
type WebhookList struct {
	Items []Webhook `json:"items" doc:"In the order in which they came into being."`
}

// NewWebhook is a webhook with its secret.
type NewWebhook struct {
	Webhook
	Secret string `json:"secret" doc:"Signs what is sent, as the Standard Webhooks have it. It is shown here only."`
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

// DeliveryPage is a part of the list of deliveries.
type DeliveryPage struct {
	Items  []Delivery `json:"items" doc:"The newest first."`
	Cursor string     `json:"cursor,omitempty" doc:"Ask with this for what came before; absent when nothing did."`
}

// InWebhook names a webhook.
type InWebhook struct {
	Webhook string `path:"webhook" minLength:"1" maxLength:"64"`
}

type (
	newWebhookInput struct {
		Keyed
		Body struct {
			URL    string   `json:"url" minLength:"10" maxLength:"2000" doc:"Where events are posted to. It is public and begins with https."`
			Types  []string `json:"types,omitempty" maxItems:"20" doc:"The events to be told of; none means all."`
			Secret string   `json:"secret,omitempty" maxLength:"100" doc:"whsec_ and base64; one is made if there is none."`
		}
	}
	newWebhookOutput   struct{ Body NewWebhook }
	webhooksOutput     struct{ Body WebhookList }
	removeWebhookInput struct {
		InWebhook
		Keyed
	}
	deliveriesInput struct {
		InWebhook
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor string `query:"cursor" maxLength:"200"`
	}
	deliveriesOutput struct{ Body DeliveryPage }
	replayInput      struct {
		InWebhook
		Keyed
		Delivery string `path:"delivery" minLength:"1" maxLength:"64"`
	}
	deliveryOutput struct{ Body Delivery }
)

// noWebhooks is a server that tells nobody.
type noWebhooks struct{ webhook.Book }

// Allowed implements Webhooks.
func (noWebhooks) Allowed(string) error { return noHooks() }

// Hooks implements webhook.Book.
func (noWebhooks) Hooks(context.Context, string) ([]webhook.Hook, error) { return nil, nil }

// Remove implements webhook.Book.
func (noWebhooks) Remove(context.Context, string, string) error { return journal.NotFound() }

// Deliveries implements webhook.Book.
func (noWebhooks) Deliveries(context.Context, string, string, string, int) ([]webhook.Delivery, string, error) {
	return nil, "", journal.NotFound()
}

// Replay implements webhook.Book.
func (noWebhooks) Replay(context.Context, string, string, string, string, time.Time) (webhook.Delivery, error) {
	return webhook.Delivery{}, journal.NotFound()
}

func noHooks() error {
	return &Problem{Code: "conflict", Detail: "this server sends no webhooks", Next: "ask another server of the installation"}
}

func (s *Server) webhookRoutes() {
	if s.options.Webhooks == nil {
		s.options.Webhooks = noWebhooks{}
	}
	tags := []string{"administration"}
	register(s, accessAdmin, huma.Operation{
		OperationID: "createWebhook", Method: http.MethodPost, Path: "/v1/webhooks", DefaultStatus: http.StatusCreated,
		Summary: "Have an address told what happens", Tags: tags,
	}, s.createWebhook)
	register(s, accessAdmin, huma.Operation{
		OperationID: "listWebhooks", Method: http.MethodGet, Path: "/v1/webhooks", Summary: "The addresses that are told", Tags: tags,
	}, s.webhooks)
	register(s, accessAdmin, huma.Operation{
		OperationID: "deleteWebhook", Method: http.MethodDelete, Path: "/v1/webhooks/{webhook}", DefaultStatus: http.StatusAccepted,
		Summary: "Tell an address nothing more", Tags: tags,
	}, s.removeWebhook)
	register(s, accessAdmin, huma.Operation{
		OperationID: "listDeliveries", Method: http.MethodGet, Path: "/v1/webhooks/{webhook}/deliveries",
		Summary: "What was sent to an address, and what is still to be sent", Tags: tags,
	}, s.deliveries)
	register(s, accessAdmin, huma.Operation{
		OperationID: "replayDelivery", Method: http.MethodPost, Path: "/v1/webhooks/{webhook}/deliveries/{delivery}/replay",
		DefaultStatus: http.StatusAccepted, Summary: "Send an event again", Tags: tags,
	}, s.replay)
}

func (s *Server) createWebhook(ctx context.Context, in *newWebhookInput) (*newWebhookOutput, error) {
	caller, b := callerOf(ctx), in.Body
	if err := s.options.Webhooks.Allowed(b.URL); err != nil {
		return nil, err
	}
	for _, t := range b.Types {
		if !slices.Contains(hookTypes, EventType(t)) {
			return nil, &Problem{Code: "invalid", Detail: "webhooks are not told of " + t, Next: "leave out types to be told of all that there is"}
		}
	}
	if b.Secret == "" {
		b.Secret = webhook.NewSecret()
	} else if err := webhook.CheckSecret(b.Secret); err != nil {
		return nil, err
	}
	id := "w" + in.id(caller, "webhook")
	h := webhook.Hook{
		Tenant: caller.Tenant, ID: id, URL: b.URL, Secret: b.Secret, Types: b.Types, By: caller.Name, At: s.options.Now(),
	}
	err := s.traced(ctx, audit.Record{Action: audit.ActionWebhookCreate, Object: id, Detail: "host=" + hostOf(b.URL), Key: id}, func() (err error) {
		h, err = s.options.Webhooks.Add(ctx, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	if h.URL != b.URL || !slices.Equal(h.Types, b.Types) || (in.Body.Secret != "" && h.Secret != in.Body.Secret) {
		return nil, keyReused()
	}
	return &newWebhookOutput{Body: NewWebhook{Webhook: webhookOf(h), Secret: h.Secret}}, nil
}

// hostOf is where an address leads, without what may be a secret in it.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func webhookOf(h webhook.Hook) Webhook {
	return Webhook{ID: h.ID, URL: h.URL, Types: append([]string{}, h.Types...), By: h.By, At: h.At.UTC()}
}

func (s *Server) webhooks(ctx context.Context, _ *struct{}) (*webhooksOutput, error) {
	list, err := s.options.Webhooks.Hooks(ctx, callerOf(ctx).Tenant)
	return &webhooksOutput{Body: WebhookList{Items: each(list, webhookOf)}}, err
}

func (s *Server) removeWebhook(ctx context.Context, in *removeWebhookInput) (*acceptedOutput, error) {
	caller := callerOf(ctx)
	id := "e" + in.id(caller, in.Webhook)
	err := s.traced(ctx, audit.Record{Action: audit.ActionWebhookRemove, Object: in.Webhook, Key: id}, func() error {
		return s.options.Webhooks.Remove(ctx, caller.Tenant, in.Webhook)
	})
	if err != nil {
		return nil, err
	}
	return &acceptedOutput{Body: Accepted{ID: id}}, nil
}

func (s *Server) deliveries(ctx context.Context, in *deliveriesInput) (*deliveriesOutput, error) {
	list, cursor, err := s.options.Webhooks.Deliveries(ctx, callerOf(ctx).Tenant, in.Webhook, in.Cursor, in.Limit)
	return &deliveriesOutput{Body: DeliveryPage{Items: each(list, deliveryOf), Cursor: cursor}}, err
}

func (s *Server) replay(ctx context.Context, in *replayInput) (*deliveryOutput, error) {
	caller, object := callerOf(ctx), in.Webhook+"/"+in.Delivery
	var d webhook.Delivery
	record := audit.Record{Action: audit.ActionWebhookReplay, Object: object, Key: "r" + in.id(caller, object)}
	err := s.traced(ctx, record, func() (err error) {
		d, err = s.options.Webhooks.Replay(ctx, caller.Tenant, in.Webhook, in.Delivery, record.Key, s.options.Now())
		return err
	})
	return &deliveryOutput{Body: deliveryOf(d)}, err
}

func deliveryOf(d webhook.Delivery) Delivery {
	out := Delivery{
		ID: d.ID, Conversation: d.Conversation, Seq: d.Seq, Type: d.Type, Status: string(d.Status), Attempts: d.Attempts,
		At: d.At.UTC(), Code: d.Code, Problem: d.Problem,
	}
	if !d.Tried.IsZero() {
		out.Tried = &d.Tried
	}
	if d.Status == webhook.Pending {
		out.Next = &d.Next
	}
	return out
}
