// The snapshot that a server would give after any part of a history.

import type { Event, Snapshot, TaskStatus } from '../api/types';
import { conversation } from './histories.fixture';
import { noUsage, plus } from './usage';

/** What the server would answer after these events. Written as the server folds, not as the store does. */
export function snapshotAfter(events: readonly Event[]): Snapshot {
  const snapshot = {
    conversation: { id: conversation, number: 0, archived: false },
    agents: [] as Record<string, unknown>[],
    tasks: [] as Record<string, unknown>[],
    questions: [] as Record<string, unknown>[],
    approvals: [] as Record<string, unknown>[],
    messages: [] as Record<string, unknown>[],
    notes: [] as Record<string, unknown>[],
    turns: [] as Record<string, unknown>[],
    used: noUsage,
    held_tokens: 0,
    held_micro_usd: 0,
  };
  for (const event of events) {
    const data = event.data as Record<string, unknown>;
    Object.assign(snapshot.conversation, { seq: event.seq, updated_at: event.ts });
    const task = snapshot.tasks.find((t) => t.id === event.task);
    const ask = (list: Record<string, unknown>[], id: unknown) => list.find((a) => a.id === id);
    switch (event.type) {
      case 'conversation.created':
        Object.assign(snapshot.conversation, data, { opened_at: event.ts });
        break;
      case 'conversation.renamed':
        Object.assign(snapshot.conversation, data);
        break;
      case 'conversation.shared':
        Object.assign(snapshot.conversation, { visibility: 'tenant' });
        break;
      case 'conversation.archived':
        Object.assign(snapshot.conversation, { archived: true });
        break;
      case 'message.received':
        Object.assign(snapshot.conversation, { number: data.number });
        snapshot.messages.push({ ...data, state: 'received' });
        break;
      case 'message.delivered':
        Object.assign(ask(snapshot.messages, data.message) ?? {}, { state: 'delivered' });
        break;
      case 'message.completed':
        if (event.agent_path === 'main') snapshot.messages.push({ ...data });
        break;
      case 'agent.spawned': {
        const { depth, role, parent } = event.data;
        const above = parent === undefined ? {} : { parent };
        const usage = { own: noUsage, subtree: noUsage };
        snapshot.agents.push({
          id: event.agent_path,
          depth,
          role,
          task: event.task,
          ...above,
          ...usage,
        });
        const place = { id: event.task, agent: event.agent_path, seq: event.seq, ...above };
        snapshot.tasks.push({ ...place, status: 'pending', assigned_at: event.ts });
        break;
      }
      case 'agent.started':
      case 'agent.resumed':
      case 'agent.waiting':
        move(task, event.data.status, event.data.waiting_reason, event.ts);
        break;
      case 'agent.failed':
        move(task, event.data.status, undefined, event.ts);
        Object.assign(task ?? {}, { error_kind: event.data.error_kind, finished_at: event.ts });
        break;
      case 'note.added':
        snapshot.notes.push({ ...data, seq: event.seq, at: event.ts, ...place(event) });
        break;
      case 'turn.completed':
      case 'turn.failed':
      case 'turn.cancelled':
        snapshot.turns.push({ ...data, seq: event.seq, at: event.ts, ...place(event) });
        break;
      case 'attempt.completed':
        snapshot.used = plus(snapshot.used, event.data.usage);
        break;
      case 'question.asked':
        snapshot.questions.push({ ...data });
        break;
      case 'question.relayed':
        Object.assign(ask(snapshot.questions, data.question) ?? {}, { status: 'relayed' });
        break;
      case 'question.answered': {
        const question = ask(snapshot.questions, data.question);
        Object.assign(question ?? {}, { status: 'closed', by: data.by });
        break;
      }
      case 'approval.requested':
        snapshot.approvals.push({ ...data });
        break;
      case 'approval.decided': {
        const { approval, args, ...decision } = data;
        const edited = args === undefined ? {} : { edited: true };
        const end = { ...decision, ...edited, status: 'decided' };
        Object.assign(ask(snapshot.approvals, approval) ?? {}, end);
        break;
      }
      case 'approval.expired':
        Object.assign(ask(snapshot.approvals, data.approval) ?? {}, { status: data.status });
        break;
    }
  }
  return snapshot as unknown as Snapshot;
}

function move(
  task: Record<string, unknown> | undefined,
  status: TaskStatus,
  reason: string | undefined,
  at: string,
): void {
  if (!task) return;
  task.status = status;
  if (reason === undefined) delete task.waiting_reason;
  else task.waiting_reason = reason;
  if (status === 'running') task.started_at ??= at;
}

const place = ({ agent_path: agent, task }: Event) => ({ agent, task });
