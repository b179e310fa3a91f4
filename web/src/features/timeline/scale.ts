import { type Interval, lengthOf, union, within, without } from './interval';

/** Where each moment of a stretch of time is drawn. It never goes back: a later moment is not further left. */
export interface Scale {
  window: Interval;
  width: number;
  /** Where a moment is. What lies outside is at the edge. */
  x: (at: number) => number;
  /** The moment at a place, the other way round. */
  at: (x: number) => number;
  gaps: readonly Gap[];
  /** When the conversation began: what the axis counts from. */
  origin: number;
}

/** Idle time that is drawn as a narrow band. */
export interface Gap extends Interval {
  x: number;
  width: number;
}

/** How wide folded time is: a duration must fit above it. */
const GAP_WIDTH = 52;

/** Folding less than this tells nobody anything. */
const LEAST_GAP = 20_000;

/** Bands take up at most this part of the width; the longest ones are folded first. */
const MOST_GAPS = 0.4;

/** From this share of idle time on it is folded unless somebody says otherwise. */
export const MUCH_IDLE = 0.6;

/** How much of a window nobody worked in. */
export function idleShare(busy: readonly Interval[], window: Interval): number {
  const whole = window.to - window.from;
  return whole > 0 ? 1 - lengthOf(within(window, union(busy))) / whole : 0;
}

/** The idle stretches of a window that are worth folding. */
export function idle(busy: readonly Interval[], window: Interval): Interval[] {
  return without(window, union(busy)).filter((gap) => gap.to - gap.from >= LEAST_GAP);
}

interface Piece extends Interval {
  x: number;
  width: number;
  folded: boolean;
}

export function scaleOf(
  window: Interval,
  width: number,
  folded: readonly Interval[] = [],
  origin = window.from,
): Scale {
  const pieces = piecesOf(window, width, longest(within(window, folded), width));
  return {
    window,
    origin,
    width,
    x: (at) => {
      if (at <= window.from) return 0;
      if (at >= window.to) return width;
      const piece = pieces.find((p) => at < p.to);
      return piece ? piece.x + ((at - piece.from) / (piece.to - piece.from)) * piece.width : width;
    },
    at: (x) => {
      if (x <= 0) return window.from;
      if (x >= width) return window.to;
      const piece = pieces.find((p) => x < p.x + p.width);
      return piece
        ? piece.from + ((x - piece.x) / piece.width) * (piece.to - piece.from)
        : window.to;
    },
    gaps: pieces.filter((p) => p.folded),
  };
}

function longest(gaps: Interval[], width: number): Interval[] {
  const most = Math.floor((width * MOST_GAPS) / GAP_WIDTH);
  return [...gaps]
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, most)
    .sort((a, b) => a.from - b.from);
}

function piecesOf(window: Interval, width: number, gaps: readonly Interval[]): Piece[] {
  const shown = window.to - window.from - lengthOf(gaps);
  const perMs = shown > 0 ? (width - gaps.length * GAP_WIDTH) / shown : 0;
  const gapWidth = shown > 0 ? GAP_WIDTH : width / Math.max(1, gaps.length);
  const pieces: Piece[] = [];
  let x = 0;
  const add = (from: number, to: number, folded: boolean) => {
    if (to <= from) return;
    const wide = folded ? gapWidth : (to - from) * perMs;
    pieces.push({ from, to, x, width: wide, folded });
    x += wide;
  };
  let at = window.from;
  for (const gap of gaps) {
    add(at, gap.from, false);
    add(gap.from, gap.to, true);
    at = gap.to;
  }
  add(at, window.to, false);
  return pieces;
}
