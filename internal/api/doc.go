// Package api is the server that browsers, programs and the command line talk to: commands go in,
// snapshots and one stream of events come out.
//
// Nothing but commands writes to a conversation: create it, post a message, decide an approval,
// cancel, share, and archive or delete. Each carries an Idempotency-Key, from which the key of its
// row in the journal is made, so that a command which is sent again is the same command. An answer
// in the 200s is sent after the row is durable, never before. A thing that does not exist and one
// that is somebody else's give the same 404.
//
// The package has the routes of conversations and puts the server together. Below it, admission
// decides who may call and how often, identity knows callers, route is the table of all routes, and
// watch, admin and export have those of streams, of tenants and of conversations that are carried
// from one server to another.
//
// It imports these, chat, people, the ports journal and live, and wire, which is what it says;
// events makes that of the journal. Commands decides what commands lead to; app fills it.
package api
