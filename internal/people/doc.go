// Package people holds the people of an installation that several share: tenants, their members,
// and the members' credentials.
//
// A tenant is the wall: its members see all of its conversations and nobody else sees any. A person
// is identified by an identity provider, with issuer and subject; their first login makes a tenant
// of their own. An owner adds others by e-mail address, and they are members from their next login
// on. Sessions and keys belong to one tenant, whose name is written in them; only their hashes are
// kept.
//
// The package imports chat only. Adapters below it know SQL and OpenID Connect.
package people
