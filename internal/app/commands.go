package app

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/journal"
)

// commands carries out what people ask the server for.
type commands struct {
	node      *Node
	workspace string
	// hooks is nil where nobody else is told.
	hooks *hooks
}

// leave is called before a conversation goes off the list: webhooks are told what happens in it
// nevertheless.
func (c commands) leave(ctx context.Context, ref journal.Ref) error {
	if c.hooks == nil {
		return nil
	}
	return c.hooks.feeder.Watch(ctx, ref)
}

// Open implements api.Commands.
func (c commands) Open(ctx context.Context, ref journal.Ref, t api.NewConversation) error {
	if t.Workspace == "" {
		t.Workspace = c.workspace
	}
	if err := c.node.resolve(ctx, Workspace{Tenant: ref.Tenant, Name: t.Workspace}); err != nil {
		return err
	}
	return c.node.Open(ctx, ref, t)
}

// Say implements api.Commands.
func (c commands) Say(ctx context.Context, ref journal.Ref, s api.Said) error {
	_, err := c.node.Client.Say(ctx, ref, durable.Message{
		ID: s.ID, By: s.By, Parts: words(s.Text), InReplyTo: s.InReplyTo, Decline: s.Decline,
	})
	return err
}

// Decide implements api.Commands.
func (c commands) Decide(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) error {
	return c.node.Client.Decide(ctx, ref, d)
}

// Cancel implements api.Commands.
func (c commands) Cancel(ctx context.Context, ref journal.Ref, id, by, task string) error {
	return c.node.Client.Cancel(ctx, ref, id, by, task)
}

// Share implements api.Commands.
func (c commands) Share(ctx context.Context, ref journal.Ref, by string) error {
	_, err := c.node.Log.Append(ctx, ref, time.Now(), journal.Shared{By: by})
	return err
}

// Archive implements api.Commands.
func (c commands) Archive(ctx context.Context, ref journal.Ref, by string) error {
	if err := c.leave(ctx, ref); err != nil {
		return err
	}
	_, err := c.node.Log.Append(ctx, ref, time.Now(), journal.Archived{By: by})
	return err
}

// Delete implements api.Commands.
func (c commands) Delete(ctx context.Context, ref journal.Ref, id, by string) error {
	if err := c.leave(ctx, ref); err != nil {
		return err
	}
	return c.node.Client.Delete(ctx, ref, id, by)
}

func words(text string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: text}} }
