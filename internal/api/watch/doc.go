// Package watch streams what happens: the events of one conversation, and the states of a list of
// them with its inbox.
//
// A conversation's stream is its journal: the id of an event is its place there, so a client that
// comes back with the last id misses nothing and sees nothing twice, on any server. Each server
// reads a conversation once however many watch it (tap), and looks at all that are watched with one
// statement (Hub). The stream of a list tells states instead (board). A reader that is too slow is
// cut off and comes back.
//
// It imports admission, route, chat, events, the ports journal and live, and wire. It writes
// nothing and knows no command.
package watch
