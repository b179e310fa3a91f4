// What a row of the chat is.

import type { ConversationState } from '../../store/conversation';
import { same } from '../../store/hooks';
import type { MessageRow, NoteRow, TurnRow } from '../../store/rows';

interface Place {
  key: string;
  /** The turn that it belongs to: what a person said, or what the orchestrator did about it. */
  turn: string;
  /** The last event that it stands for; what is newer than the reader has seen is counted by it. */
  seq: number;
}

export type Row = Place &
  (
    | { kind: 'posted'; message: MessageRow }
    | { kind: 'heading'; at: string | undefined; number: number | undefined; folded: string }
    | { kind: 'block'; raw: string; open: boolean; message: number }
    | { kind: 'group'; call: string; count: number; open: boolean }
    | { kind: 'task'; task: string; depth: number; open: boolean; edge: Edge }
    | { kind: 'deeper'; task: string; depth: number; edge: Edge }
    | { kind: 'fold'; call: string; hidden: number; edge: Edge }
    | { kind: 'note'; note: NoteRow }
    | { kind: 'end'; end: TurnRow }
    | { kind: 'working' }
  );

/** Where a row is in its card. */
export type Edge = 'only' | 'first' | 'middle' | 'last';

export const turnKey = (turn: string): string => `turn ${turn}`;

export const textsOf = (message: MessageRow): string[] =>
  message.parts.filter((p) => p.kind === 'text' && p.text).map((p) => p.text ?? '');

/** One block of a text. */
export function blockRow(
  id: string,
  part: number,
  index: number,
  raw: string,
  turn: string,
  seq: number,
  open = false,
): Row {
  return { kind: 'block', key: `${id} ${part}.${index}`, turn, seq, raw, open, message: seq };
}

/** The rows that were given last, by their keys. */
export type Memory = WeakMap<ConversationState, Map<string, Row>>;

/** Gives the old object for every row that is as it was, so that comparing is cheap for those who draw. */
export function reused(memory: Memory, state: ConversationState, rows: Row[]): readonly Row[] {
  const old = memory.get(state);
  const next = rows.map((row) => {
    const was = old?.get(row.key);
    return was && same(was, row) ? was : row;
  });
  memory.set(state, new Map(next.map((row) => [row.key, row])));
  return next;
}
