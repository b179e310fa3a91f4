package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/webhook"
	"github.com/retinue-dev/retinue/wire"
)

// Webhooks is where webhooks are kept.
type Webhooks interface {
	webhook.Book
	// Allowed complains about an address that nothing may be sent to.
	Allowed(url string) error
}

// hookTypes are the events that webhooks are told of: tasks and turns that ended, and what people
// are asked.
var hookTypes = []wire.EventType{
	wire.AgentCompleted, wire.AgentFailed, wire.AgentCancelled, wire.TurnCompleted, wire.TurnFailed, wire.TurnCancelled, wire.QuestionAsked, wire.QuestionAnswered,
	wire.ApprovalRequested, wire.ApprovalDecided, wire.ApprovalResolved, wire.ApprovalExpired,
}

// WebhookEvent is the event of an entry as webhooks are sent it: the same that streams have. False
// if webhooks are not told of it.
func WebhookEvent(conversation string, entry journal.Entry) (webhook.Event, bool) {
	e, ok := events.Of(conversation, entry)
	if !ok || !slices.Contains(hookTypes, e.Type) {
		return webhook.Event{}, false
	}
	body, err := json.Marshal(e)
	return webhook.Event{Type: string(e.Type), Seq: e.Seq, At: e.At, Body: body}, err == nil
}

// InWebhook names a webhook.
type InWebhook struct {
	Webhook string `path:"webhook" minLength:"1" maxLength:"64"`
}

type (
	newWebhookInput struct {
		route.Keyed
		Body wire.NewWebhook
	}
	newWebhookOutput   struct{ Body wire.MadeWebhook }
	webhooksOutput     struct{ Body wire.Webhooks }
	removeWebhookInput struct {
		InWebhook
		route.Keyed
	}
	removedOutput   struct{ Body wire.Accepted }
	deliveriesInput struct {
		InWebhook
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor string `query:"cursor" maxLength:"200"`
	}
	deliveriesOutput struct{ Body wire.Deliveries }
	replayInput      struct {
		InWebhook
		route.Keyed
		Delivery string `path:"delivery" minLength:"1" maxLength:"64"`
	}
	deliveryOutput struct{ Body wire.Delivery }
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
	return &admission.Problem{Code: "conflict", Detail: "this server sends no webhooks", Next: "ask another server of the installation"}
}

func (s *Service) webhookRoutes(t *route.Table) {
	tags := []string{"administration"}
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "createWebhook", Method: http.MethodPost, Path: "/v1/webhooks", DefaultStatus: http.StatusCreated,
		Summary: "Have an address told what happens", Tags: tags,
	}, s.createWebhook)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "listWebhooks", Method: http.MethodGet, Path: "/v1/webhooks", Summary: "The addresses that are told", Tags: tags,
	}, s.webhooks)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "deleteWebhook", Method: http.MethodDelete, Path: "/v1/webhooks/{webhook}", DefaultStatus: http.StatusAccepted,
		Summary: "Tell an address nothing more", Tags: tags,
	}, s.removeWebhook)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "listDeliveries", Method: http.MethodGet, Path: "/v1/webhooks/{webhook}/deliveries",
		Summary: "What was sent to an address, and what is still to be sent", Tags: tags,
	}, s.deliveries)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "replayDelivery", Method: http.MethodPost, Path: "/v1/webhooks/{webhook}/deliveries/{delivery}/replay",
		DefaultStatus: http.StatusAccepted, Summary: "Send an event again", Tags: tags,
	}, s.replay)
}

func (s *Service) createWebhook(ctx context.Context, in *newWebhookInput) (*newWebhookOutput, error) {
	caller, b := admission.CallerOf(ctx), in.Body
	if err := s.options.Webhooks.Allowed(b.URL); err != nil {
		return nil, err
	}
	for _, t := range b.Types {
		if !slices.Contains(hookTypes, wire.EventType(t)) {
			return nil, &admission.Problem{Code: "invalid", Detail: "webhooks are not told of " + t, Next: "leave out types to be told of all that there is"}
		}
	}
	if b.Secret == "" {
		b.Secret = webhook.NewSecret()
	} else if err := webhook.CheckSecret(b.Secret); err != nil {
		return nil, err
	}
	id := "w" + in.ID(caller, "webhook")
	h := webhook.Hook{
		Tenant: caller.Tenant, ID: id, URL: b.URL, Secret: b.Secret, Types: b.Types, By: caller.Name, At: s.options.Now(),
	}
	err := s.guard.Traced(ctx, audit.Record{Action: audit.ActionWebhookCreate, Object: id, Detail: "host=" + hostOf(b.URL), Key: id}, func() (err error) {
		h, err = s.options.Webhooks.Add(ctx, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	if h.URL != b.URL || !slices.Equal(h.Types, b.Types) || (in.Body.Secret != "" && h.Secret != in.Body.Secret) {
		return nil, route.KeyReused()
	}
	return &newWebhookOutput{Body: wire.MadeWebhook{Webhook: webhookOf(h), Secret: h.Secret}}, nil
}

// hostOf is where an address leads, without what may be a secret in it.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func webhookOf(h webhook.Hook) wire.Webhook {
	return wire.Webhook{ID: h.ID, URL: h.URL, Types: append([]string{}, h.Types...), By: h.By, At: h.At.UTC()}
}

func (s *Service) webhooks(ctx context.Context, _ *struct{}) (*webhooksOutput, error) {
	list, err := s.options.Webhooks.Hooks(ctx, admission.CallerOf(ctx).Tenant)
	return &webhooksOutput{Body: wire.Webhooks{Items: route.Each(list, webhookOf)}}, err
}

func (s *Service) removeWebhook(ctx context.Context, in *removeWebhookInput) (*removedOutput, error) {
	caller := admission.CallerOf(ctx)
	id := "e" + in.ID(caller, in.Webhook)
	err := s.guard.Traced(ctx, audit.Record{Action: audit.ActionWebhookRemove, Object: in.Webhook, Key: id}, func() error {
		return s.options.Webhooks.Remove(ctx, caller.Tenant, in.Webhook)
	})
	if err != nil {
		return nil, err
	}
	return &removedOutput{Body: wire.Accepted{ID: id}}, nil
}

func (s *Service) deliveries(ctx context.Context, in *deliveriesInput) (*deliveriesOutput, error) {
	list, cursor, err := s.options.Webhooks.Deliveries(ctx, admission.CallerOf(ctx).Tenant, in.Webhook, in.Cursor, in.Limit)
	return &deliveriesOutput{Body: wire.Deliveries{Items: route.Each(list, deliveryOf), Cursor: cursor}}, err
}

func (s *Service) replay(ctx context.Context, in *replayInput) (*deliveryOutput, error) {
	caller, object := admission.CallerOf(ctx), in.Webhook+"/"+in.Delivery
	var d webhook.Delivery
	record := audit.Record{Action: audit.ActionWebhookReplay, Object: object, Key: "r" + in.ID(caller, object)}
	err := s.guard.Traced(ctx, record, func() (err error) {
		d, err = s.options.Webhooks.Replay(ctx, caller.Tenant, in.Webhook, in.Delivery, record.Key, s.options.Now())
		return err
	})
	return &deliveryOutput{Body: deliveryOf(d)}, err
}

func deliveryOf(d webhook.Delivery) wire.Delivery {
	out := wire.Delivery{
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
