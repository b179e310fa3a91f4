// Package overload sends a server of the shipped programs three times the load that it can take,
// and checks the outcome. Acknowledged requests are in the journal. The others were refused before
// any effect, and told when to come back. Memory stays bounded, and soon afterwards the server is
// as fast as before. Tests only.
package overload
