// Package wire has the types of the HTTP API: each resource and each event, once. The server writes
// these types and the client reads them; the document of the API is made from them and their tags.
//
// It holds data and no behaviour beside reading an event, and imports the standard library alone,
// so that a program that reads the API links nothing of a server.
package wire
