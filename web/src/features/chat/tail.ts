// The end of the chat: what the orchestrator is saying, or that it is at work.

import { BlockStream } from '../../markdown/blocks';
import type { ConversationState } from '../../store/conversation';
import type { Draft } from '../../store/drafts';
import { cached, draftsOf, isOver, openAsks, orchestrator } from '../../store/selectors';
import type { Disclosure } from './disclosure';
import { blockRow, type Memory, type Row, reused } from './row';

const tails: Memory = new WeakMap();
const streams = new WeakMap<ConversationState, Map<string, BlockStream>>();

/** What the orchestrator is saying, or that it is at it. The same objects until something is said. */
export const tailRows = (
  state: ConversationState,
  disclosure: Disclosure,
  last: Row | undefined,
): readonly Row[] =>
  cached(
    state,
    'tail',
    [
      ...[state.drafts, state.messages, state.turns, state.tasks, state.notes],
      ...[state.approvals, state.questions, disclosure],
    ],
    () => reused(tails, state, buildTail(state, last)),
  );

function buildTail(state: ConversationState, last: Row | undefined): Row[] {
  const drafts = draftsOf(state, orchestrator).filter((d) =>
    d.parts.some((p) => p?.kind === 'text' && p.text.trim()),
  );
  const under = last?.kind === 'posted' ? undefined : last?.turn || undefined;
  if (drafts.length === 0) {
    if (!isThinking(state)) return [];
    const turn = under ?? 'working';
    const row: Row = { kind: 'working', key: 'working', turn, seq: 0 };
    return under === undefined ? [headingOf(turn), row] : [row];
  }
  const turn = under ?? (drafts[0] as Draft).message;
  const rows: Row[] = under === undefined ? [headingOf(turn)] : [];
  // It is newer than all that is recorded, and older than what will be.
  const seq = (last?.seq ?? 0) + 0.5;
  for (const draft of drafts) rows.push(...draftRows(state, draft, turn, seq));
  return rows;
}

/** The heading of a turn that has no message yet. */
const headingOf = (turn: string): Row => ({
  kind: 'heading',
  key: `h ${turn}`,
  turn,
  seq: 0,
  at: undefined,
  number: undefined,
  folded: '',
});

/** At work, and nothing else on the screen says so. */
function isThinking(state: ConversationState): boolean {
  const main = state.tasks.get(orchestrator);
  if (main?.status !== 'running' || openAsks(state).length > 0) return false;
  return !state.tasks.all().some((t) => t.parent === orchestrator && !isOver(t) && !t.background);
}

function draftRows(state: ConversationState, draft: Draft, turn: string, seq: number): Row[] {
  let known = streams.get(state);
  if (!known) {
    known = new Map();
    streams.set(state, known);
  }
  const last = draft.parts.length - 1;
  return draft.parts.flatMap((part, index) => {
    if (part?.kind !== 'text') return [];
    const id = `${draft.message} ${draft.began} ${index}`;
    const stream = (known.get(id) ?? new BlockStream()).sync(part.text);
    known.set(id, stream);
    const blocks = stream.all();
    return blocks.map((raw, at) => {
      const open = index === last && at === blocks.length - 1;
      return blockRow(draft.message, index, at, raw, turn, seq, open);
    });
  });
}
