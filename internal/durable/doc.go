// Package durable runs agents on Temporal. It is the only importer of its SDK.
//
// The orchestrator has a workflow. The workflow supervises: it waits for a look, a timer or the end of a leg, and starts legs. It knows
// ids and numbers. A leg is one heartbeating activity that hosts the core (agent.Step) and carries out what it
// orders: model calls, tools, records, mail, sub-agents. A leg ends when nothing of that is left: everybody waits for a person or for a
// time, or has finished. So a run is a chain of legs, and the engine's history grows with what needs the engine, not with what agents
// do.
//
// # Families
//
// A sub-agent runs in the leg of its parent, and so on down: one leg carries a family (family.go). Each agent has its own steps and
// its own fence. A sub-agent has a workflow of its own if it is in the background, or if the family is too large: the leg records that
// and has the engine start it (apart.go). Whoever has no run of its own and has not ended is carried by the next leg of its parent.
//
// # Mail
//
// Whatever reaches an agent from outside is a Posted row in the journal, written in the transaction of what causes it: a person's
// command, or the step of another agent. The engine's signal says "look" and nothing else. A leg reads what waits for its agent; the
// append that records the step takes the mail out of the mailbox. Mail that nobody looks at is found by a Sweeper.
//
// # What is recorded
//
// Every event is recorded as a step, in one append with the fact that it tells of and with the
// records that the core orders because of it. Steps are numbered, and the journal takes a step only
// once and with it what belongs to it. So a leg that was given up for dead and lives cannot undo
// what its successor did, and a successor finds everything its predecessor recorded: it folds those
// steps, finds out what was ordered and not answered, and goes on from there.
//
// Engine history holds ids and counts, never events or text.
//
// There are no decisions here: who may do what, when to stop and what to try again is the core's. Just before a call runs, the host
// gathers what is known of it, and agent.Authorise says whether it may.
package durable
