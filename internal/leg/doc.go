// Package leg runs agents for a while. It hosts the core (agent.Step) for an agent and its family,
// and carries out the core's effects: model calls, tools, records, mail, sub-agents. Package host
// has the code and data that all legs share. It imports agent, its receipts, chat, host and the
// ports journal, live, model and tool. It knows no engine: its caller hands it an Engine, and a
// Watch for each leg.
//
// A leg ends when nothing is left to do: each agent waits for a person or for a time, or has
// finished.
//
// # Families
//
// A sub-agent runs in the leg of its parent, and so on down: one leg carries a family (family.go).
// Each agent has its own steps and its own fence. A sub-agent has a run of its own if it is in the
// background, or if the family is too large: the leg records that and has the engine start it
// (apart.go). An unfinished agent without a run of its own continues in the next leg of its parent.
//
// # Mail
//
// Everything that reaches an agent from outside is a MailPosted row in the journal, written in the
// transaction of its cause: a person's command, or the step of another agent. A leg reads the mail
// that waits for its agent; the append that records the step takes the mail out of the mailbox.
//
// # What is recorded
//
// Every event is recorded as a step, in one append with the fact that it tells of and with the
// records that the core orders because of it. Steps are numbered, and the journal takes each step,
// with its rows, only once. So a leg that was given up for dead and still lives cannot undo the
// work of its successor. The successor finds everything that its predecessor recorded: it folds
// those steps, finds the effects that were ordered and not answered, and continues from there.
//
// A leg decides nothing: the core decides on permissions, stops and retries. Just before a call
// runs, the host gathers its facts, and agent.Authorise says whether it may run.
package leg
