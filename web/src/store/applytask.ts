import type { Event, Task } from '../api/types';
import type { ConversationTables } from './state';
import { final } from './table';

type TaskEvent = Extract<Event, { type: `agent.${string}` }>;

export const isTask = (event: Event): event is TaskEvent => event.type.startsWith('agent.');

/** The tables after an event about a task. */
export function applyTask(state: ConversationTables, event: TaskEvent): void {
  const { seq, ts, task = '', agent_path: agent = '' } = event;
  switch (event.type) {
    case 'agent.spawned': {
      const { depth, role, role_hash, parent, ...assignment } = event.data;
      state.agents.bear(agent, {}, seq);
      state.agents.first(agent, { seq, depth, role, role_hash, parent }, seq);
      state.agents.put(agent, { task }, seq);
      const title = startOf(assignment.instruction ?? '', TITLE);
      const fields = { ...assignment, title, seq, agent, parent, role, assigned_at: ts };
      return state.tasks.bear(task, { ...fields, status: 'pending' }, seq);
    }
    case 'agent.queued':
    case 'agent.started':
    case 'agent.waiting':
    case 'agent.resumed':
    case 'agent.settled': {
      const { status, waiting_reason } = event.data;
      state.tasks.put(task, { status, waiting_reason }, seq);
      if (status === 'running') state.tasks.first(task, { started_at: ts }, seq);
      return;
    }
    case 'agent.completed':
    case 'agent.failed':
    case 'agent.cancelled': {
      const { reason, status, error_kind, files = [], ...rest } = event.data;
      const changed = { changed_files: files.slice(0, FILES), changed_count: files.length };
      const end = { ...rest, ...changed, verdict: verdictOf(rest.receipt) };
      state.drafts.endBefore(agent, ts, seq);
      const fields = { ...end, status, error_kind, end_reason: reason, finished_at: ts };
      return state.tasks.put(task, { ...fields, waiting_reason: undefined }, final(seq));
    }
    case 'agent.patched':
      return state.tasks.put(task, { patch: event.data }, seq);
  }
}

/** As much of an instruction and of changed files as a snapshot has. */
const TITLE = 200;
const FILES = 20;

/** The beginning of a text on one line; an ellipsis says that there is more. */
export function startOf(text: string, most: number): string {
  // What is not looked at is not split: an instruction may be long.
  const line = [
    ...text
      .slice(0, most * 4)
      .trim()
      .replace(/\s+/g, ' '),
  ];
  return line.length > most ? `${line.slice(0, most - 1).join('')}…` : line.join('');
}

const verdicts = ['verified', 'unverified', 'contradicted'] as const;

/** What a receipt says of all claims together. */
function verdictOf(receipt: unknown): NonNullable<Task['verdict']> {
  const said = (receipt as { verdict?: unknown } | undefined | null)?.verdict;
  return verdicts.find((verdict) => verdict === said) ?? 'none';
}
