// Package durable has agents run on Temporal. It is the only importer of its SDK, and imports leg,
// host, agent, chat and journal.
//
// The orchestrator has a workflow. The workflow supervises: it waits for a look, a timer or the end
// of a leg, and starts legs. It knows ids and numbers. A leg is one heartbeating activity, whose
// code is package leg. So a run is a chain of legs, and the engine's history grows with the work
// that needs the engine, not with the work of agents. Engine history holds ids and counts, never
// events or text.
//
// A worker is lost when its presence falls silent, and then its legs are released for others to
// take: a leg's own heartbeats are rare.
//
// Requests of people reach agents as mail in the journal (Client). The engine's signal says "look"
// and nothing else. Mail that nobody looks at is found by a Sweeper, and runs that the engine has
// lost by a Reconciler.
package durable
