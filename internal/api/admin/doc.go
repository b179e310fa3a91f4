// Package admin is what people look after themselves, and owners for their tenant: tenants,
// members, policies, keys, the audit trail, webhooks, and the deletion of people and tenants.
//
// Whatever changes who may do what is on the audit trail before it takes effect. A thing of another
// tenant gives the same 404 as one that does not exist.
//
// It imports admission, identity, route, audit, chat, events, journal, people, webhook and wire.
// How a conversation is deleted is handed to it.
package admin
