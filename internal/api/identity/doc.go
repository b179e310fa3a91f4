// Package identity is how callers become known: the authenticators, and the routes by which people
// and browsers come in and go.
//
// Hosted looks up the sessions and keys of an installation that several share, Local knows the one
// person of a machine by a token, a socket or a browser that came by a link (Browsers). People log
// in where a Provider says who they are. Whatever a cookie is given for is on the audit trail
// first.
//
// It imports admission, route, audit, chat and people.
package identity
