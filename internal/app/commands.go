package app

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
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
func (c commands) leave(ctx context.Context, place journal.Place) error {
	if c.hooks == nil {
		return nil
	}
	return c.hooks.feeder.Watch(ctx, place)
}

// Open implements api.Commands.
func (c commands) Open(ctx context.Context, place journal.Place, t api.Talk) error {
	if t.Workspace == "" {
		t.Workspace = c.workspace
	}
	if err := c.node.resolve(ctx, Workspace{Tenant: place.Tenant, Name: t.Workspace}); err != nil {
		return err
	}
	return c.node.Open(ctx, place, Talk{
		By: t.By, Title: t.Title, Workspace: t.Workspace, Role: t.Role, Model: t.Model, Headless: t.Headless, Cost: t.Cost,
		Time: t.Time, Command: t.Command, PrivateTo: t.PrivateTo,
	})
}

// Say implements api.Commands.
func (c commands) Say(ctx context.Context, place journal.Place, s api.Said) error {
	_, err := c.node.Client.Say(ctx, place, durable.Message{
		ID: s.ID, By: s.By, Parts: words(s.Text), InReplyTo: s.InReplyTo, Decline: s.Decline,
	})
	return err
}

// Decide implements api.Commands.
func (c commands) Decide(ctx context.Context, place journal.Place, d journal.Decided) error {
	return c.node.Client.Decide(ctx, place, d)
}

// Cancel implements api.Commands.
func (c commands) Cancel(ctx context.Context, place journal.Place, id, by, task string) error {
	return c.node.Client.Cancel(ctx, place, id, by, task)
}

// Share implements api.Commands.
func (c commands) Share(ctx context.Context, place journal.Place, by string) error {
	_, err := c.node.Log.Append(ctx, place, time.Now(), journal.Shared{By: by})
	return err
}

// Archive implements api.Commands.
func (c commands) Archive(ctx context.Context, place journal.Place, by string) error {
	if err := c.leave(ctx, place); err != nil {
		return err
	}
	_, err := c.node.Log.Append(ctx, place, time.Now(), journal.Archived{By: by})
	return err
}

// Delete implements api.Commands.
func (c commands) Delete(ctx context.Context, place journal.Place, id, by string) error {
	if err := c.leave(ctx, place); err != nil {
		return err
	}
	return c.node.Client.Delete(ctx, place, id, by)
}
