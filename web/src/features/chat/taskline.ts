// What a task's row says, taken from whatever is known of it: events say more than snapshots do.

import { subtasks } from '../../store/chat';
import type { ConversationState } from '../../store/conversation';
import type { TaskRow } from '../../store/rows';
import { cached, isOver } from '../../store/selectors';
import { isStopping } from '../../store/stopping';
import { subtreeUsage } from '../../store/usage';
import { whyEnded } from '../../ui/ended';
import { duration } from '../../ui/format';
import { type Shown, shownOf } from '../../ui/status';

export type Verdict = 'verified' | 'unverified' | 'contradicted';

export interface ChangedFile {
  path: string;
  added?: number | undefined;
  removed?: number | undefined;
}

export function titleOf(task: TaskRow): string {
  const text = task.title ?? task.instruction ?? '';
  return text.split('\n')[0]?.trim() ?? '';
}

export function filesOf(task: TaskRow): ChangedFile[] {
  if (task.patch) {
    return task.patch.files.map(({ path, added, removed }) => ({ path, added, removed }));
  }
  const named = task.changed_files ?? changedInResult(task.result);
  return named.map((path) => ({ path }));
}

function changedInResult(result: unknown): string[] {
  if (typeof result !== 'object' || result === null) return [];
  const { files_modified: changed, files_created: made } = result as Record<string, unknown>;
  return [changed, made].flat().filter((path): path is string => typeof path === 'string');
}

/** Whether what it says it did is what it did. Undefined if it claimed nothing. */
export function verdictOf(task: TaskRow): Verdict | undefined {
  const receipt = task.receipt as { verdict?: string } | undefined;
  const verdict = task.verdict ?? receipt?.verdict;
  return verdict === 'verified' || verdict === 'unverified' || verdict === 'contradicted'
    ? verdict
    : undefined;
}

/** What went wrong, what was kept, in a sentence or two. */
export function troubleOf(task: TaskRow): string {
  switch (task.status) {
    case 'timed_out': {
      const limit = task.max_duration_ms ? ` ${duration(task.max_duration_ms)}` : ' time';
      return `Stopped at its${limit} limit. What it did until then was kept.`;
    }
    case 'failed':
      return (
        task.message?.trim() ||
        whyEnded(task.error_kind, task.end_reason) ||
        'It ended without saying why.'
      );
    default:
      return '';
  }
}

export interface Glance {
  shown: Shown;
  /** How many sub-agents it waits for. */
  agents: number;
  below: number;
  micro: number;
  unpriced: number;
  tokens: number;
  steps: number;
}

/** What a row shows of a task and those below it. */
export function glance(state: ConversationState, task: TaskRow): Glance {
  const children = subtasks(state, task);
  const open = children.filter((child) => !isOver(child) && !child.background).length;
  const used = subtreeUsage(state, task.agent);
  const stopping = isStopping(state, task);
  const shown = shownOf(task, { agents: open, stopping });
  return {
    shown,
    agents: open,
    below: children.length,
    micro: used.cost_micro_usd,
    unpriced: used.unpriced_calls,
    tokens: used.input + used.output + used.cache_read + used.cache_write,
    steps: task.iterations ?? stepsSoFar(state).get(task.id) ?? 0,
  };
}

/** How many turns a model has taken for each task that is under way. */
const stepsSoFar = (state: ConversationState): ReadonlyMap<string, number> =>
  cached(state, 'steps so far', [state.modelCalls], () => {
    const steps = new Map<string, number>();
    for (const { task, turn } of state.modelCalls.all()) {
      if (task !== undefined && turn) steps.set(task, (steps.get(task) ?? 0) + 1);
    }
    return steps;
  });
