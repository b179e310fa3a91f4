// What is being stopped: somebody asked for it, and it has not come to rest yet.

import { readings } from './chat';
import type { ConversationState } from './conversation';
import type { StopRow, TaskRow } from './rows';
import { cached, isOver, orchestrator } from './selectors';

/** Whether somebody asked to stop a task that has not ended yet. */
export function isStopping(state: ConversationState, task: TaskRow): boolean {
  if (isOver(task)) return false;
  const since = restedAt(state, task);
  return state.stops.all().some((stop) => stop.seq > since && reaches(state, stop, task));
}

/** Whether somebody asked to stop everything and some of it has not come to rest. */
export const isStoppingAll = (state: ConversationState): boolean =>
  cached(state, 'stopping all', [state.stops, state.tasks, state.turns, state.messages], () => {
    const asked = state.stops.all().findLast((stop) => !stop.task);
    if (!asked) return false;
    return state.tasks.all().some((task) => !isOver(task) && asked.seq > restedAt(state, task));
  });

/** What was asked before this is no matter of the task: it began then, or the orchestrator rested and began again. */
function restedAt(state: ConversationState, task: TaskRow): number {
  if (task.agent !== orchestrator) return task.seq;
  return cached(state, 'rested', [state.turns, state.messages, state.tasks], () => {
    const turns = state.turns.all().filter((turn) => turn.agent === orchestrator && turn.status);
    const rested = Math.max(task.seq, turns.at(-1)?.seq ?? 0);
    return [...readings(state).values()].reduce((most, at) => Math.max(most, at), rested);
  });
}

function reaches(state: ConversationState, stop: StopRow, task: TaskRow): boolean {
  if (!stop.task || stop.task === task.id) return true;
  const top = state.tasks.get(stop.task);
  return top !== undefined && task.agent.startsWith(`${top.agent}/`);
}
