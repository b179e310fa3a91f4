// What the inspector asks of a conversation.

import type { ConversationState } from './conversation';
import type { AgentRow, ApprovalRow, ModelCallRow, TaskRow } from './rows';
import { cached, childrenOf, isOver, orchestrator } from './selectors';
import { inOrder } from './table';

/** The agents from the orchestrator down to one, that one included. */
export function pathOf(state: ConversationState, id: string): readonly AgentRow[] {
  const path: AgentRow[] = [];
  let agent = state.agents.get(id);
  while (agent && path.length < 32) {
    path.unshift(agent);
    agent = agent.parent === undefined ? undefined : state.agents.get(agent.parent);
  }
  return path;
}

/** The agents that the same agent has called, this one included. */
export function siblingsOf(state: ConversationState, id: string): readonly AgentRow[] {
  const agent = state.agents.get(id);
  if (!agent) return [];
  return agent.parent === undefined ? [agent] : childrenOf(state, agent.parent);
}

/** The model calls of an agent, oldest first. */
export const modelCallsOf = (state: ConversationState, agent: string): readonly ModelCallRow[] =>
  state.by.modelCallAgent.of(agent);

/** How many steps a task has taken: what it says when it has ended, else the turns that a model answered. */
export function stepsOf(state: ConversationState, task: TaskRow): number {
  if (task.iterations !== undefined) return task.iterations;
  const turns = new Set<number>();
  for (const call of modelCallsOf(state, task.agent)) {
    if (call.task === task.id && call.turn && call.status === 'completed') turns.add(call.turn);
  }
  return turns.size;
}

/** How many agents right below one are at work. */
export const workingBelow = (state: ConversationState, agent: string): number =>
  state.by.taskParent.of(agent).filter((task) => !isOver(task)).length;

/** The approval that a call waits for. */
export const openApproval = (
  state: ConversationState,
  agent: string,
  call: string,
): ApprovalRow | undefined =>
  state.approvals.all().find((a) => a.status === 'open' && a.agent === agent && a.call === call);

/** What a person looks for first. */
const ranks: Record<TaskRow['status'], number> = {
  waiting: 0,
  running: 1,
  pending: 2,
  queued: 2,
  failed: 3,
  timed_out: 3,
  cancelled: 4,
  completed: 4,
};

/**
 * So many of the agents that the orchestrator called, in their order: the one that is looked at, those that wait or work,
 * those that failed, then the latest.
 */
export const foremost = (
  state: ConversationState,
  most: number,
  selected: string | undefined,
): readonly AgentRow[] => {
  const all = childrenOf(state, orchestrator);
  if (all.length <= most) return all;
  return cached(state, `foremost ${most} ${selected}`, [state.agents, state.tasks], () => {
    const rank = ({ id, task }: AgentRow) =>
      id === selected ? -1 : ranks[state.tasks.get(task)?.status ?? 'queued'];
    const chosen = [...all].reverse().sort((a, b) => rank(a) - rank(b));
    return chosen.slice(0, most).sort(inOrder);
  });
};
