import type { ConversationState } from '../../store/conversation';
import { toolCallId } from '../../store/rows';

/**
 * When an agent, or one below it, waited for a person: beginnings and ends in turn, in milliseconds. A task's time stands
 * still meanwhile, so its limit does not count down. What still waits ends at infinity.
 */
export function waitsOf(state: ConversationState, agent: string): readonly number[] {
  const ours = (id: string) => id === agent || id.startsWith(`${agent}/`);
  const waits: number[] = [];
  for (const approval of state.approvals.all()) {
    if (!ours(approval.agent)) continue;
    const call = state.toolCalls.get(toolCallId(approval.agent, approval.call));
    const end = approval.status === 'open' ? undefined : (call?.started_at ?? call?.finished_at);
    waits.push(Date.parse(approval.at), ending(approval.status === 'open', approval.at, end));
  }
  for (const question of state.questions.all()) {
    if (!ours(question.agent) || question.status === 'open') continue;
    const open = question.status === 'relayed';
    const next = state.modelCalls
      .all()
      .find((call) => call.agent === question.agent && (call.started_at ?? '') > question.at);
    waits.push(Date.parse(question.at), ending(open, question.at, next?.started_at));
  }
  return waits;
}

/** A wait whose end is not known counts as none: the agent's time must not look shorter than it is. */
function ending(open: boolean, began: string, end: string | undefined): number {
  if (open) return Number.POSITIVE_INFINITY;
  return Date.parse(end ?? began);
}

/** How much of the time between two moments was not waited away. Waits may overlap. */
export function worked(from: number, to: number, waits: readonly number[]): number {
  const spans: [number, number][] = [];
  for (let at = 0; at + 1 < waits.length; at += 2) {
    const begin = Math.max(from, waits[at] ?? 0);
    const end = Math.min(to, waits[at + 1] ?? 0);
    if (end > begin) spans.push([begin, end]);
  }
  spans.sort((a, b) => a[0] - b[0]);
  let waited = 0;
  let reached = from;
  for (const [begin, end] of spans) {
    waited += Math.max(0, end - Math.max(begin, reached));
    reached = Math.max(reached, end);
  }
  return Math.max(0, to - from - waited);
}
