import { useLocation } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { chatMessages } from '../../store/selectors';
import { store } from '../../store/store';
import { toast } from '../../ui/toast';
import type { List } from './list';
import type { Older } from './older';
import type { Row } from './row';

/** How many pages are read to get to what an address names. */
const PAGES = 120;

/** How long such a page is: as long as the server gives. */
const PAGE = 1000;

/** Goes to the turn or the message that the address names, however far back it is. */
export function useTarget(
  conversation: string,
  list: List,
  rows: readonly Row[],
  older: Older,
): void {
  const { hash, state: visit } = useLocation();
  const latest = useRef({ rows, older });
  latest.current = { rows, older };
  const ready = rows.length > 0;
  const key = (visit as { key?: string }).key ?? '';
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same address, visited again, is gone to again
  useEffect(() => {
    if (!ready || !hash) return;
    let live = true;
    void (async () => {
      const missing = await reach(conversation, hash, latest.current.older);
      // The rows that were read are drawn with the next frame.
      await new Promise((resolve) => setTimeout(resolve, 80));
      if (!live) return;
      const index = findTarget(latest.current.rows, hash);
      if (index < 0) return missing ? toast('That message is not in this conversation') : undefined;
      list.scrollToIndex(index, { align: 'start' });
      mark(latest.current.rows[index]?.key ?? '');
    })();
    return () => {
      live = false;
    };
  }, [conversation, hash, key, ready, list]);
}

/** The row that an address names: #m-<seq> a message, #t-<turn> a turn. */
export function findTarget(rows: readonly Row[], hash: string): number {
  const [kind, number] = parse(hash);
  if (number === undefined) return -1;
  if (kind === 't') {
    // A turn is what the orchestrator did until a person spoke: several of its steps, of which the first is named.
    return rows.findLastIndex(
      (r) => r.kind === 'heading' && r.number !== undefined && r.number <= number,
    );
  }
  return rows.findIndex(
    (r) =>
      (r.kind === 'posted' && r.message.seq === number) ||
      (r.kind === 'block' && r.message === number),
  );
}

function parse(hash: string): [string, number | undefined] {
  const found = /^#?([mt])-(\d+)$/.exec(hash);
  return found ? [found[1] ?? '', Number(found[2])] : ['', undefined];
}

/** Reads older pages until what is named is there. Says whether it is not to be found. */
async function reach(conversation: string, hash: string, older: Older): Promise<boolean> {
  const [kind, number] = parse(hash);
  if (number === undefined) return false;
  const state = store.conversation(conversation);
  for (let page = 0; page < PAGES; page++) {
    const messages = chatMessages(state);
    const there = messages.some((m) =>
      kind === 'm' ? m.seq <= number : m.turn !== undefined && m.turn <= number,
    );
    if (there) return true;
    if (!(await older.load(PAGE))) return true;
  }
  return true;
}

/** Shows for a moment which row it is. */
function mark(key: string): void {
  requestAnimationFrame(() => {
    const row = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    row?.animate?.([{ background: 'var(--accent-soft)' }, { background: 'transparent' }], 1600);
  });
}
