// Package api is the server that browsers, programs and the command line talk to: commands go
// in, snapshots and one stream of events come out.
//
// Nothing but commands writes to a conversation: create it, post a message, decide an approval,
// cancel, share, and archive or delete. Each carries an Idempotency-Key, from which the key of its
// row in the journal is made, so that a command which is sent again is the same command. An answer
// in the 200s is sent after the row is durable, never before.
//
// A conversation's stream is its journal: the id of an event is its place there, so a client that
// comes back with the last id misses nothing and sees nothing twice, on any server. Each server
// reads a conversation once however many watch it (tap), and looks at all that are watched with one
// statement (hub). The stream of a list tells states instead (board).
//
// Every route is registered together with who may use it (Access). A thing that does not exist and
// one that is somebody else's give the same 404. The document that describes it all (OpenAPI 3.1)
// is made from the code and served under /openapi.json.
//
// It imports chat, the ports journal and live, and wire, which is what it says; events makes that
// of the journal. An Authenticator finds out who a request comes from, and Commands decides what
// commands lead to; app fills both.
package api
