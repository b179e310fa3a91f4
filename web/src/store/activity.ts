// What agents did and what it cost, by agent: each table is gone through once, however many agents are asked about.

import type { Usage } from '../api/types';
import type { ConversationState } from './conversation';
import type {
  AgentRow,
  ApprovalRow,
  ModelCallRow,
  QuestionRow,
  TaskRow,
  ToolCallRow,
} from './rows';
import { cached, isOver, orchestrator } from './selectors';
import { totalUsage } from './usage';

/** All that the tables know of what one agent did. */
export interface Activity {
  tasks: readonly TaskRow[];
  modelCalls: readonly ModelCallRow[];
  toolCalls: readonly ToolCallRow[];
  approvals: readonly ApprovalRow[];
  questions: readonly QuestionRow[];
  /** The tasks that it gave to others. */
  given: readonly TaskRow[];
}

export function activityOf(state: ConversationState, agent: string): Activity {
  return {
    tasks: state.by.taskAgent.of(agent),
    modelCalls: state.by.modelCallAgent.of(agent),
    toolCalls: state.by.toolCallAgent.of(agent),
    approvals: asksOf(state, 'approvals', state.approvals, agent),
    questions: asksOf(state, 'questions', state.questions, agent),
    given: state.by.taskParent.of(agent),
  };
}

const nothing: readonly never[] = [];

function asksOf<T extends { agent: string }>(
  state: ConversationState,
  name: string,
  table: { version: number; all(): readonly T[] },
  agent: string,
): readonly T[] {
  const groups = cached(state, `activity ${name}`, [table], () =>
    groupBy(table.all(), (row) => row.agent),
  );
  return groups.get(agent) ?? nothing;
}

function groupBy<T>(rows: readonly T[], key: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(key(row));
    if (group) group.push(row);
    else groups.set(key(row), [row]);
  }
  return groups;
}

/** The most that a conversation may cost, in millionths of a US dollar, if somebody set a limit. */
export const limitOf = (state: ConversationState): number | undefined => state.spent?.limit;

/** What the header says of a conversation. */
export interface Summary {
  agents: number;
  from: string | undefined;
  /** When the last thing happened; nothing while agents are at work. */
  to: string | undefined;
  used: Usage;
}

export function summaryOf(state: ConversationState): Summary {
  const head = state.conversation;
  const tables = [state.head, state.agents, state.tasks, state.modelCalls];
  return cached(state, 'activity summary', [...tables, { version: state.spent?.seq ?? 0 }], () => ({
    agents: state.agents.all().length,
    from: head?.opened_at,
    to: isLive(state) ? undefined : head?.updated_at,
    used: totalUsage(state),
  }));
}

/** Whether an agent is at work or waits for somebody. */
export const isLive = (state: ConversationState): boolean =>
  cached(state, 'activity live', [state.tasks], () =>
    state.tasks.all().some((task) => !isOver(task)),
  );

/** An agent in the order and at the depth in which a tree shows it. */
export interface TreeRow {
  agent: AgentRow;
  depth: number;
  /** How many agents are below it. */
  below: number;
}

/** All agents, each below the one that called it. */
export const agentTree = (state: ConversationState): readonly TreeRow[] =>
  cached(state, 'activity tree', [state.agents], () => {
    const all = state.agents.all();
    const ids = new Set(all.map((a) => a.id));
    // One whose parent is not known yet stands at the top until it is.
    const children = groupBy(all, (a) => (a.parent && ids.has(a.parent) ? a.parent : ''));
    const rows: TreeRow[] = [];
    const walk = (parent: string, depth: number): number => {
      let count = 0;
      for (const agent of children.get(parent) ?? []) {
        const at = rows.push({ agent, depth, below: 0 }) - 1;
        const below = walk(agent.id, depth + 1);
        rows[at] = { agent, depth, below };
        count += 1 + below;
      }
      return count;
    };
    walk('', 0);
    return rows;
  });

/** What an agent is about, in one line. The orchestrator's is the conversation's title. */
export function subjectOf(state: ConversationState, agent: AgentRow): string {
  if (agent.id === orchestrator) return state.conversation?.title ?? '';
  const task = state.tasks.get(agent.task);
  return task?.title ?? task?.instruction?.split('\n', 1)[0] ?? '';
}
