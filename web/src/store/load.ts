import type { Approval, Message, Question, Snapshot, Task } from '../api/types';
import { messageId, turnId } from './rows';
import type { ConversationTables } from './state';
import { final } from './table';

/** Writes a snapshot into the tables. All that it says is as of its seq. */
export function loadSnapshot(state: ConversationTables, snapshot: Snapshot): void {
  const { seq } = snapshot.conversation;
  const { id, ...head } = snapshot.conversation;
  state.head.bear(id, head, seq);
  for (const message of snapshot.messages) loadMessage(state, message, seq);
  for (const task of snapshot.tasks) loadTask(state, task, seq);
  const first = new Map<string, number>();
  for (const { agent, seq: began } of snapshot.tasks) {
    if (!first.has(agent)) first.set(agent, began);
  }
  for (const agent of snapshot.agents) {
    const { id, own: _own, subtree: _subtree, task, ...fields } = agent;
    const began = first.get(id) ?? seq;
    state.agents.bear(id, { task }, seq);
    state.agents.first(id, { ...fields, seq: began }, began);
  }
  for (const question of snapshot.questions) loadQuestion(state, question, seq);
  for (const approval of snapshot.approvals) loadApproval(state, approval, seq);
  for (const note of snapshot.notes) state.notes.bear(String(note.seq), note, note.seq);
  for (const { at, task: _, ...turn } of snapshot.turns) {
    state.turns.bear(turnId(turn.agent, turn.turn), { ...turn, ended_at: at }, turn.seq);
    state.drafts.endBefore(turn.agent, at, turn.seq);
  }
  if (state.spent && state.spent.seq > seq) return;
  state.spent = {
    seq,
    used: snapshot.used,
    limit: snapshot.max_cost_micro_usd,
    agents: Object.fromEntries(
      snapshot.agents.map(({ id, own, subtree }) => [id, { own, subtree }]),
    ),
  };
}

/** A message of a listing or a snapshot, whose state is as of seq. */
export function loadMessage(state: ConversationTables, message: Message, seq: number): void {
  const { id: name, state: how, ...fields } = message;
  const id = messageId(message.agent, name);
  state.messages.bear(id, fields, message.seq);
  for (const number of message.reads ?? []) state.read.add(number);
  if (how) state.messages.put(id, { state: how }, seq);
  state.drafts.end(id);
}

const over = new Set<Task['status']>(['completed', 'failed', 'cancelled', 'timed_out']);

function loadTask(state: ConversationTables, task: Task, seq: number): void {
  const { id, started_at, status, waiting_reason, finished_at, error_kind, ...rest } = task;
  const { summary, message, changed_files, changed_count, verdict, iterations, ...fields } = rest;
  state.tasks.bear(id, fields, task.seq);
  if (started_at) state.tasks.first(id, { started_at }, task.seq);
  // The orchestrator is done until somebody speaks again. What is done for good has an end.
  const ended = over.has(status) && (task.parent !== undefined || finished_at !== undefined);
  if (!ended) return state.tasks.put(id, { status, waiting_reason }, seq);
  state.tasks.put(id, { status, waiting_reason, finished_at, error_kind }, final(seq));
  // Events have these whole, so what they say counts, whenever they come.
  const cut = { summary, message, changed_files, changed_count, verdict, iterations };
  state.tasks.put(id, cut, task.seq);
}

/** Those that are closed come without their text, which an event may have brought. */
function loadQuestion(state: ConversationTables, question: Question, seq: number): void {
  const { id, status, by, ...fields } = question;
  state.questions.bear(id, fields, question.seq);
  const version = status === 'closed' ? final(seq) : seq;
  state.questions.put(id, by === undefined ? { status } : { status, by }, version);
}

function loadApproval(state: ConversationTables, approval: Approval, seq: number): void {
  const { id, status, by, allow, scope, ...fields } = approval;
  state.approvals.bear(id, fields, approval.seq);
  const version = status === 'open' || status === 'decided' ? seq : final(seq);
  state.approvals.put(id, { status }, version);
  for (const [name, value] of Object.entries({ by, allow, scope })) {
    if (value !== undefined) state.approvals.put(id, { [name]: value }, version);
  }
}
