// Package host has what all agents of a worker share: the ports, texts that were read, and how a
// tool call is checked against what is on record, run, and written down. It imports agent, its
// receipts, chat and the ports journal, live, model and tool. Which agent is meant is an argument
// (Whose), so it knows nothing of legs, and decides nothing: agent.Authorise says whether a call
// may run.
package host
