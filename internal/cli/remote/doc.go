// Package remote is the HTTP API as commands work with it, whether a server elsewhere serves it
// or this very process: messages, answers, decisions, the news of a conversation and the inbox.
// It may import the client, the wire, chat and progress. It promises that news come once and in
// order, over every cut of the stream, and that an error says what happened and what to do.
package remote
