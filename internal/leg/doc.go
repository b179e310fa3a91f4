// Package leg carries agents on for a while: it hosts the core (agent.Step) for an agent and its
// family, and carries out what that orders: model calls, tools, records, mail, sub-agents. Package
// host has what all legs share. It imports agent, its receipts, chat, host and the ports journal,
// live, model and tool. It knows no engine: its caller hands it an Engine, and a Watch for each
// leg.
//
// A leg ends when nothing is left to do: everybody waits for a person or for a time, or has
// finished.
//
// # Families
//
// A sub-agent runs in the leg of its parent, and so on down: one leg carries a family (family.go).
// Each agent has its own steps and its own fence. A sub-agent has a run of its own if it is in the
// background, or if the family is too large: the leg records that and has the engine start it
// (apart.go). An agent that has no run of its own and has not ended is carried by the next leg of
// its parent.
//
// # Mail
//
// Everything that reaches an agent from outside is a MailPosted row in the journal, written in the
// transaction of its cause: a person's command, or the step of another agent. A leg reads what
// waits for its agent; the append that records the step takes the mail out of the mailbox.
//
// # What is recorded
//
// Every event is recorded as a step, in one append with the fact that it tells of and with the
// records that the core orders because of it. Steps are numbered, and the journal takes a step only
// once and with it what belongs to it. So a leg that was given up for dead and lives cannot undo
// what its successor did, and a successor finds everything its predecessor recorded: it folds those
// steps, finds out what was ordered and not answered, and goes on from there.
//
// There are no decisions here: who may do what, when to stop and what to try again is the core's.
// Just before a call runs, the host gathers what is known of it, and agent.Authorise says whether
// it may.
package leg
