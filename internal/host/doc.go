// Package host has the code and data that all agents of a worker share: the ports, a cache of
// texts, and the way of a tool call, which is checked with the records, run, and recorded. It
// imports agent, its receipts, chat and the ports journal, live, model and tool. The agent is an
// argument (RunRef), so host knows nothing of legs. It decides nothing: agent.Authorise says
// whether a call may run.
package host
