// Package route is the table of all ways into a server: each is added together with who may use it
// and described in one document (OpenAPI 3.1).
//
// Add takes an operation with its input, its output and its Access; Browse a route for browsers,
// which writes its own answers; Handle one that is no part of the document. Each goes through the
// Guard of admission, and no route can be added without. Keyed, Paged and InConversation are
// parameters that routes share.
//
// It imports admission, journal, people and wire, and knows no route itself.
package route
