import type { TreeRow } from '../../store/activity';
import type { Interval } from './interval';

/** What of a conversation is looked at: all of it, or a part that the address names in milliseconds from its beginning. */
export interface Zoom {
  from?: number | undefined;
  to?: number | undefined;
}

/** Nobody looks closer than this. */
const CLOSEST = 200;

export function windowOf(whole: Interval, zoom: Zoom): Interval {
  if (zoom.from === undefined && zoom.to === undefined) return whole;
  const from = clamp(whole.from + (zoom.from ?? 0), whole.from, whole.to - CLOSEST);
  const to = zoom.to === undefined ? whole.to : whole.from + zoom.to;
  return { from, to: clamp(to, from + CLOSEST, Math.max(whole.to, from + CLOSEST)) };
}

/** What the address says of a window: nothing for the whole. */
export function zoomOf(whole: Interval, window: Interval): Zoom {
  if (window.from <= whole.from && window.to >= whole.to) return {};
  const from = Math.round(window.from - whole.from);
  return { from: Math.max(0, from), to: Math.round(window.to - whole.from) };
}

/** Nearer for a factor below one, further away for one above, around a moment that stays where it is. */
export function zoomed(
  whole: Interval,
  window: Interval,
  factor: number,
  around?: number,
): Interval {
  const at = around ?? (window.from + window.to) / 2;
  const length = Math.max(CLOSEST, (window.to - window.from) * factor);
  const share = (at - window.from) / (window.to - window.from);
  return moved(whole, { from: at - length * share, to: at + length * (1 - share) }, 0);
}

/** The same length, further on; it stays inside the whole. */
export function moved(whole: Interval, window: Interval, by: number): Interval {
  const length = Math.min(window.to - window.from, whole.to - whole.from);
  const from = clamp(window.from + by, whole.from, whole.to - length);
  return { from, to: from + length };
}

const clamp = (value: number, least: number, most: number): number =>
  Math.max(least, Math.min(value, most));

/** The rows of a tree without what is below those that are closed. */
export function openRows(rows: readonly TreeRow[], closed: ReadonlySet<string>): TreeRow[] {
  const out: TreeRow[] = [];
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as TreeRow;
    out.push(row);
    if (closed.has(row.agent.id)) i += row.below;
  }
  return out;
}

/** What a key does in the tree: go to a row, open or close one, or nothing. */
export type Move = { to: number } | { open: string } | { close: string } | undefined;

export function moveFor(
  key: string,
  rows: readonly TreeRow[],
  at: number,
  closed: ReadonlySet<string>,
  page: number,
): Move {
  const row = rows[at];
  if (!row) return undefined;
  const go = (to: number): Move => ({ to: clamp(to, 0, rows.length - 1) });
  switch (key) {
    case 'ArrowDown':
      return go(at + 1);
    case 'ArrowUp':
      return go(at - 1);
    case 'PageDown':
      return go(at + page);
    case 'PageUp':
      return go(at - page);
    case 'Home':
      return go(0);
    case 'End':
      return go(rows.length - 1);
    case 'ArrowRight':
      if (row.below === 0) return undefined;
      return closed.has(row.agent.id) ? { open: row.agent.id } : go(at + 1);
    case 'ArrowLeft':
      if (row.below > 0 && !closed.has(row.agent.id)) return { close: row.agent.id };
      return row.depth === 0 ? undefined : go(parentOf(rows, at));
  }
  return undefined;
}

function parentOf(rows: readonly TreeRow[], at: number): number {
  const depth = rows[at]?.depth ?? 0;
  for (let i = at - 1; i >= 0; i--) if ((rows[i]?.depth ?? 0) < depth) return i;
  return at;
}
