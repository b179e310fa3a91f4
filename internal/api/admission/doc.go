// Package admission decides who may call a server and how often, before anything is read or written
// for them.
//
// Every request goes through one Guard. Its Handler gives a request an id and the headers of all
// answers, and refuses what no client of ours sends. Enter finds out who asks, compares that with
// the Access of the route and takes a place for the request, or says why there is none; Begin
// takes the place of a command once its body has arrived. A request that was admitted ends when
// its caller loses what let it in. Traced puts on the audit trail what a caller does, and Refuse
// answers with a Problem.
//
// It imports audit, chat, journal and people. It knows neither routes nor credentials: a route
// hands in its Access, and an Authenticator finds out who a request comes from. It keeps nothing
// that another server of the installation would need.
package admission
