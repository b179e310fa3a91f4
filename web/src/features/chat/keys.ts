import { type KeyboardEvent, useCallback, useRef } from 'react';
import { actionFor } from '../../shell/keys/registry';
import { useSelectAgent } from '../../shell/selection';
import { isOver } from '../../store/selectors';
import { store } from '../../store/store';
import { Disclosure } from './disclosure';
import type { List } from './list';
import { type Row, turnKey } from './row';

/** J and K go from turn to turn, Space folds, O opens an agent. They count while the conversation has the focus. */
export function useTurnKeys(conversation: string, list: List, rows: readonly Row[]) {
  const select = useSelectAgent();
  const current = useRef<string>(undefined);
  return useCallback(
    (event: KeyboardEvent<HTMLElement>) => {
      if (isTyping(event.target)) return;
      const action = actionFor(event.nativeEvent, 'conversation');
      const at = turnAt(event.target, list, rows, current.current);
      switch (action) {
        case 'turn.next':
        case 'turn.previous': {
          const starts = turnStarts(rows);
          const here = starts.findIndex((index) => rows[index]?.turn === at);
          const next = starts[action === 'turn.next' ? here + 1 : Math.max(0, here - 1)];
          const row = next === undefined ? undefined : rows[next];
          if (next === undefined || !row) return;
          event.preventDefault();
          current.current = row.turn;
          list.scrollToIndex(next, { align: 'start' });
          return focusTurn(row.turn);
        }
        case 'turn.fold': {
          if (isControl(event.target) || at === undefined) return;
          const heading = rows.find((r) => r.kind === 'heading' && r.turn === at);
          if (heading?.kind !== 'heading') return;
          event.preventDefault();
          Disclosure.of(conversation).set(turnKey(at), heading.folded !== '');
          return focusTurn(at);
        }
        case 'agent.open': {
          const agent = agentAt(conversation, event.target, rows, at);
          if (agent === undefined) return;
          event.preventDefault();
          return select(agent);
        }
      }
    },
    [conversation, list, rows, select],
  );
}

const isTyping = (target: EventTarget): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');

const isControl = (target: EventTarget): boolean =>
  target instanceof HTMLElement && target.matches('button, a, summary, pre');

/** The rows with which turns begin. */
export const turnStarts = (rows: readonly Row[]): number[] =>
  rows.flatMap((row, index) => (row.kind === 'heading' || row.kind === 'posted' ? [index] : []));

/** The turn that has the focus, else the one gone to last, else the topmost that is seen. */
function turnAt(
  target: EventTarget,
  list: List,
  rows: readonly Row[],
  last: string | undefined,
): string | undefined {
  const article = target instanceof Element ? target.closest('[data-turn]') : null;
  if (article) return article.getAttribute('data-turn') ?? undefined;
  if (last !== undefined && rows.some((row) => row.turn === last)) return last;
  // Where the box is, not where the list wants it: a short conversation cannot be scrolled to its end.
  const item = list.getVirtualItemForOffset(list.scrollElement?.scrollTop ?? 0);
  return item && rows[item.index]?.turn;
}

/** The row may be drawn only after the list has moved. */
function focusTurn(turn: string): void {
  let tries = 0;
  const attempt = () => {
    const article = document.querySelector(`[data-turn="${CSS.escape(turn)}"]`);
    const heading = article?.querySelector<HTMLElement>('h2');
    if (heading) heading.focus({ preventScroll: true });
    else if (tries++ < 10) requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}

/** The agent of the row with the focus, else the first of the turn that is at work, else its first. */
function agentAt(
  conversation: string,
  target: EventTarget,
  rows: readonly Row[],
  turn: string | undefined,
): string | undefined {
  const state = store.conversation(conversation);
  const row = target instanceof Element ? target.closest('[data-task]') : null;
  const named = row?.getAttribute('data-task');
  if (named) return state.tasks.get(named)?.agent;
  const tasks = rows
    .filter((r) => r.kind === 'task' && r.turn === turn)
    .map((r) => (r.kind === 'task' ? state.tasks.get(r.task) : undefined));
  return (tasks.find((task) => task && !isOver(task)) ?? tasks[0])?.agent;
}
