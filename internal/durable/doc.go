// Package durable runs agents on Temporal. It is the only importer of its SDK.
//
// Each agent has a workflow, and a sub-agent's is a child of its parent's. The workflow hosts the
// core: it takes events in, one after another, and carries out what needs the engine, one function
// for each effect. What needs none (model calls, tools that may be run again, records) is done in
// legs. A leg is one heartbeating activity that hosts the same core for as long as it finds such
// work, and hands back the events that it took in. So a run is a chain of legs, and the engine's
// history grows with what needs the engine, not with what an agent does.
//
// # Who hosts
//
// One of the two at a time. While a leg runs, whatever arrives for the agent waits in the workflow
// as mail; the leg is flagged, by a request to cancel it, asks for its mail and takes it in.
//
// # What is recorded
//
// Every event is recorded as a step, in one append with the fact that it tells of and with the
// records that the core orders because of it. Steps are numbered, and the journal takes a step only
// once and with it what belongs to it. So a leg that was given up for dead and lives cannot undo
// what its successor did, and a successor finds everything its predecessor recorded: it folds those
// steps and goes on from there.
//
// Engine history holds ids, counts and events of the core, never text.
//
// There are no decisions here: who may do what, when to stop and what to try again is the core's. Just before a call runs, the host
// gathers what is known of it, and agent.Authorise says whether it may.
package durable
