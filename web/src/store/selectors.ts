// What screens ask of a conversation. Each gives rows that are in the tables, so that comparing them is cheap.

import type { TaskStatus } from '../api/types';
import type { Draft } from './drafts';
import type { ListRow, ListState } from './list';
import type {
  AgentRow,
  ApprovalRow,
  MessageRow,
  NoteRow,
  QuestionRow,
  TaskRow,
  ToolCallRow,
} from './rows';
import { turnId } from './rows';
import type { ConversationTables } from './state';

/** The orchestrator's id. */
export const orchestrator = 'main';

const over: ReadonlySet<TaskStatus> = new Set(['completed', 'failed', 'cancelled', 'timed_out']);

export const isOver = (task: Pick<TaskRow, 'status'>): boolean => over.has(task.status);

/** What people and the orchestrator said, without replies that were made void. */
export function chatMessages(state: ConversationTables): readonly MessageRow[] {
  const messages = state.by.messageAgent.group(orchestrator);
  return cached(state, 'chat', [messages, state.turns], () =>
    transcript(state, orchestrator).filter(
      (m) =>
        (m.number !== undefined && m.speaker === 'user') ||
        (m.speaker === 'assistant' && m.parts.some((p) => p.kind === 'text')),
    ),
  );
}

/** All messages of an agent's transcript that count. */
export function transcript(state: ConversationTables, agent: string): readonly MessageRow[] {
  const messages = state.by.messageAgent.group(agent);
  return cached(state, `transcript ${agent}`, [messages, state.turns], () =>
    messages.all().filter((m) => !isVoided(state, m)),
  );
}

function isVoided(state: ConversationTables, message: MessageRow): boolean {
  if (message.turn === undefined || message.speaker !== 'assistant') return false;
  const at = state.turns.get(turnId(message.agent, message.turn))?.voided;
  return at !== undefined && message.seq < at;
}

/** Text on its way from an agent, oldest first. */
export const draftsOf = (state: ConversationTables, agent: string): readonly Draft[] =>
  cached(state, `drafts ${agent}`, [state.drafts], () => state.drafts.of(agent));

/** How far a posted message has come. */
export function messageState(
  state: ConversationTables,
  message: MessageRow,
): 'received' | 'delivered' | 'read' {
  if (message.number !== undefined && state.read.has(message.number)) return 'read';
  return message.state ?? 'received';
}

export const agentById = (state: ConversationTables, id: string): AgentRow | undefined =>
  state.agents.get(id);

/** The agents that one agent has called, in the order in which they came. */
export const childrenOf = (state: ConversationTables, agent: string): readonly AgentRow[] =>
  state.by.agentParent.of(agent);

/** An agent's tasks, oldest first. The last one is what it is doing. */
export const tasksOf = (state: ConversationTables, agent: string): readonly TaskRow[] =>
  state.by.taskAgent.of(agent);

export function latestTask(state: ConversationTables, agent: string): TaskRow | undefined {
  const row = state.agents.get(agent);
  return row && state.tasks.get(row.task);
}

/** The tasks that one call of an agent asked for, in the order of its items. */
export const tasksOfCall = (
  state: ConversationTables,
  agent: string,
  call: string,
): readonly TaskRow[] => {
  const tasks = state.by.taskCall.group(`${agent}#${call}`);
  return cached(state, `called ${agent} ${call}`, [tasks], () =>
    [...tasks.all()].sort((a, b) => (a.item ?? 0) - (b.item ?? 0)),
  );
};

export const toolCallsOf = (state: ConversationTables, agent: string): readonly ToolCallRow[] =>
  state.by.toolCallAgent.of(agent);

export const notesOf = (state: ConversationTables, agent: string): readonly NoteRow[] =>
  state.by.noteAgent.of(agent);

/** Something that waits for a person. */
export type Ask =
  | { kind: 'approval'; id: string; at: string; approval: ApprovalRow }
  | { kind: 'question'; id: string; at: string; question: QuestionRow };

/** All that waits for a person in the whole tree, oldest first. */
export const openAsks = (state: ConversationTables): readonly Ask[] =>
  cached(state, 'asks', [state.approvals, state.questions], () => {
    const approvals = state.approvals.all().filter((a) => a.status === 'open');
    const questions = state.questions.all().filter((q) => q.status === 'relayed');
    const asks: Ask[] = [
      ...approvals.map((a) => ({ kind: 'approval' as const, id: a.id, at: a.at, approval: a })),
      ...questions.map((q) => ({ kind: 'question' as const, id: q.id, at: q.at, question: q })),
    ];
    return asks.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  });

/** The sidebar's groups, each with the one written to last first. */
export function sidebarGroups(list: ListState): Record<'needs' | 'running' | 'earlier', ListRow[]> {
  const rows = [...list.conversations.all()].sort(
    (a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at),
  );
  return {
    needs: rows.filter((r) => r.waiting > 0),
    running: rows.filter((r) => r.waiting === 0 && r.running > 0),
    earlier: rows.filter((r) => r.waiting === 0 && r.running === 0),
  };
}

const caches = new WeakMap<
  ConversationTables,
  Map<string, { versions: number[]; value: unknown }>
>();

/** Computes again only when one of the tables that it reads, or of the groups of an index, has changed. */
export function cached<T>(
  state: ConversationTables,
  key: string,
  tables: readonly { version: number }[],
  compute: () => T,
): T {
  let cache = caches.get(state);
  if (!cache) {
    cache = new Map();
    caches.set(state, cache);
  }
  const hit = cache.get(key);
  if (hit && tables.every((t, i) => t.version === hit.versions[i])) return hit.value as T;
  const value = compute();
  cache.set(key, { versions: tables.map((t) => t.version), value });
  return value;
}
