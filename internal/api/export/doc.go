// Package export writes a conversation with all its content as JSON Lines, and makes one that can
// only be read out of them.
//
// An export is whole or it is cut off: its last line says how much there was. An import is read
// twice, once before anything of it is written, and sent again it is the same one. While others
// need the server, it rests between lines.
//
// It imports admission, route, audit, chat, events, wire and the port journal.
package export
