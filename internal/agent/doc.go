// Package agent is the core: it decides everything an agent does, and does nothing itself.
//
// There is one function, Step. It takes a State and an Event and returns the next State and a list
// of Effects. It reads no clock, draws no random number, starts no goroutine and does no IO, so the
// same events give the same state and the same effects, today and on every replay. There is one
// machine: an orchestrator is an agent at depth 0, a sub-agent is one with a parent, and both are
// data.
//
// # What the host owes the core
//
// A host is the code that calls Step: a leg, a simulator.
//
//  1. One step at a time. The host keeps one State per agent and hands it one Event after another.
//     The order in which events arrived is their order for ever. A refused event is not delivered
//     again, except a message refused as Gap or Full.
//  2. Facts first. An event is delivered only after the fact it tells of is recorded: a reply, a
//     tool result, a child's outcome, a person's message or decision. Each id is recorded once: the
//     first record wins, and a later writer is given that one. A reply is recorded under its turn,
//     not under its attempt.
//  3. Effects in order. The effects of a step are carried out in the order they are returned,
//     records before everything else, and nothing but records before all records of the step are
//     durable. A host that is not sure whether it carried an effect out does so again: Effect.Key
//     names it, and doing it twice must be the same as once.
//  4. One answer each. CallModel is answered by Replied or ModelFailed, of kind TurnCompact by
//     Compacted or ModelFailed; CallSide by Resolved or Routed; RunTool by ToolDone; StartChild by
//     ChildStarted and later ChildEnded, or by ChildEnded of kind spawn_failed alone. This holds
//     after an abort or a stop too. Answers may be late, doubled and out of order.
//  5. Time. Each event carries the time at which it happened. While State.Wake is not zero the
//     host delivers Ticked at that time or soon after. Too early or too often does no harm.
//  6. Messages. Said is delivered in the order of Seq without a gap. Events from one agent to
//     another (questions, answers, waits) arrive in the order they were sent.
//  7. Void. A reply whose turn was voided is not part of the transcript, whenever it was recorded.
//
// A host that dies anywhere folds the recorded events over Step and has the same State again; the
// effects of the fold, less those whose keys are known to be done, remain to be carried out.
//
// # What the host gets
//
// An event that does not fit gives a *Refusal and leaves the state as it was. Duplicates, unknown
// ids and late answers are counted (Refusal.Counted); the rest is told to the sender. No event ends
// a run by being wrong.
//
// A sub-agent's run ends with exactly one Finish; an orchestrator's turn with one EndTurn. After
// Done nothing is accepted. Every other state has an exit: something in flight that must be
// answered, or State.Wake, or, for an idle orchestrator, the next message.
//
// Effects say whether a leg may carry them out itself (Effect.Local) or whether they need the
// engine. The State holds no content, survives JSON, and stays under 16 KiB while no child is open.
package agent
